// Common start of all pages: determine the customer, then load the page's module.
import { customer, isSignedIn, Refusal, signIn, wasRefused } from "./api.js";
import { el, field, say, show, stage, whoIs } from "./ui.js";
import { t } from "../texts.js";

const { page } = document.querySelector(".demo").dataset;

/** The sign-in form. */
function askForToken() {
  const input = el("input", { type: "password", id: "token", required: true, autocomplete: "off", spellcheck: "false", "aria-describedby": "token-about" });
  const tell = (what) => say(what, { kind: "danger" });
  const form = el("form", { class: "card", onsubmit: (event) => {
    event.preventDefault();
    const wrong = signIn(input.value.trim());
    if (wrong) tell(wrong);
  } },
    el("h2", {}, t.demo_sign_in),
    el("p", { id: "token-about" }, t.demo_sign_in_lead),
    field(t.signin_token, input),
    el("button", { class: "primary" }, t.signin_go));
  if (stage()) show(form);
  else document.getElementById("main").append(form);
  if (wasRefused()) tell(t.demo_token_wrong);
}

async function open() {
  try {
    whoIs(await customer());
    await import(`./${page}.js`);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    say(error.detail, { kind: "danger" });
  }
}

if (isSignedIn()) await open();
else askForToken();
