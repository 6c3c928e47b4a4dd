// Everything an operator does goes through one dialog: it says what will happen, and only then asks the API.
import { api, button, fill, h, Problem, say, t } from "./kit.js";

/**
 * Opens the dialog.
 * `will` is the sentence, or makes it from what is filled in; `fields` are what can be filled in; `request` says what to
 * ask of the API; `done` runs afterwards.
 */
export function act({ title, will, fields = [], request, tone = "", done }) {
  const dialog = h("dialog", { "aria-labelledby": "act-title", "aria-describedby": "act-will" });
  const sentence = h("p", { id: "act-will", class: "will" });
  const wrong = h("p", { class: "note danger", role: "alert", hidden: true });
  const submit = h("button", { class: `primary ${tone}` }, title);
  const inputs = fields.map(input);
  const values = () => Object.fromEntries(inputs.map(({ field, control }) => [field.name, read(field, control)]));
  const tell = () => { sentence.textContent = typeof will === "function" ? will(values()) : will; };
  const form = h(
    "form",
    {
      method: "dialog",
      oninput: tell,
      onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        wrong.hidden = true;
        try {
          const { method, path, body } = request(values());
          const answer = await api(path, { method, body });
          dialog.close();
          say(t.common_done);
          await done?.(answer);
        } catch (problem) {
          if (!(problem instanceof Problem)) throw problem;
          wrong.textContent = problem.message;
          wrong.hidden = false;
        } finally {
          submit.disabled = false;
        }
      },
    },
    h("h2", { id: "act-title" }, title),
    inputs.length > 0 && h("div", { class: "fields" }, inputs.map(({ element }) => element)),
    sentence,
    wrong,
    h("div", { class: "row" }, button(t.common_cancel, () => dialog.close(), "plain"), submit),
  );
  dialog.append(form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  tell();
  dialog.showModal();
  // A sentence alone is confirmed with Enter only by those who mean it.
  if (inputs.length === 0) dialog.querySelector("button.plain").focus();
}

function input(field) {
  const id = `act-${field.name}`;
  const common = { id, name: field.name, required: field.required ?? true, "aria-describedby": field.hint && `${id}-hint` };
  let control;
  if (field.options) control = h("select", common, field.options.map(([key, text]) => h("option", { value: key, selected: key === field.value }, text)));
  else if (field.type === "checkbox") control = h("input", { id, name: field.name, type: "checkbox", checked: field.value });
  else {
    const kind = field.type === "integer" ? "number" : (field.type ?? "text");
    control = h("input", { ...common, type: kind, min: field.min ?? (field.type === "integer" ? 0 : undefined), max: field.max, step: field.type === "integer" ? 1 : undefined, maxlength: field.maxlength ?? (kind === "text" ? 200 : undefined), autocomplete: "off" });
    control.value = field.value ?? "";
  }
  const hint = field.hint && h("p", { class: "hint", id: `${id}-hint` }, field.hint);
  const label = h("label", { for: id }, field.label);
  const element = field.type === "checkbox" ? h("div", { class: "field check wide" }, control, label) : h("div", { class: `field ${field.wide ? "wide" : ""}` }, label, control, hint);
  return { field, control, element };
}

function read(field, control) {
  if (field.type === "checkbox") return control.checked;
  if (field.type === "integer") return control.value === "" ? undefined : Number(control.value);
  return control.value.trim() === "" ? undefined : control.value.trim();
}

/** Ends something that has an id. */
export const ending = (title, sentence, id, path, done) =>
  h("button", { type: "button", class: "slim danger", onclick: () => act({ title, will: fill(sentence, { id }), tone: "danger", request: () => ({ method: "POST", path, body: {} }), done }) }, title);
