// The search itself is htmx; cancelling a result uses the dialog.
import { act } from "./act.js";
import { moment, money } from "./kit.js";

const found = document.getElementById("found");

/** Formats times and amounts in the page's language. */
function write() {
  for (const fact of found.querySelectorAll("[data-currency]")) {
    fact.textContent = money(Number(fact.textContent), fact.dataset.currency);
    delete fact.dataset.currency;
  }
  for (const fact of found.querySelectorAll("[data-kind=moment]")) {
    fact.replaceChildren(moment(fact.textContent));
    delete fact.dataset.kind;
  }
  for (const time of found.querySelectorAll("time:not([title])")) time.replaceWith(moment(time.dateTime));
}

write();
document.addEventListener("htmx:afterSwap", write);

found.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-path]");
  if (!button) return;
  const { method, path, will, tone } = button.dataset;
  act({
    title: button.textContent,
    will,
    tone,
    request: () => ({ method, path, body: method === "POST" ? {} : undefined }),
    done: () => document.querySelector("form.search").requestSubmit(),
  });
});
