// What every page does first: find out who this customer is.
import { customer } from "./api.js";
import { say, whoIs } from "./ui.js";

try {
  whoIs(await customer());
} catch (error) {
  say(error.detail ?? String(error), { kind: "danger" });
}
