// One dialog for all actions of operators: it states the effect, and calls the API after confirmation.
import { api, button, day, fill, h, Problem, say, t } from "./kit.js";

const USER = "[!-~]+";
const TIME = "([01][0-9]|2[0-3]):[0-5][0-9]|24:00";
const WEEK = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const weekday = (at) => day.name(day.plus("2024-01-01", at), { weekday: "short" });
export const weekdays = (names) => WEEK.flatMap((name, at) => (names.includes(name) ? [weekday(at)] : [])).join(" ");

/**
 * Opens the dialog.
 * `verb` is the label of the button (default: the title). `will` is the sentence, or makes it from the values; `fields` are the
 * inputs; `about` is an introduction; `request` returns the API call; `done` runs afterwards.
 */
export function act({ title, verb = title, will, fields = [], about, request, tone = "", done }) {
  const dialog = h("dialog", { "aria-labelledby": "act-title", "aria-describedby": "act-will", class: fields.some((it) => it.type === "rows") ? "broad" : undefined });
  const sentence = h("p", { id: "act-will", class: "will" });
  const wrong = h("p", { class: "note danger", role: "alert", hidden: true });
  const submit = h("button", { class: `primary ${tone}` }, verb);
  const tell = () => { sentence.textContent = typeof will === "function" ? will(values()) : will; };
  const inputs = fields.map((field) => input(field, `act-${field.name}`, tell));
  const values = () => Object.fromEntries(inputs.map(({ field, read }) => [field.name, read()]));
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
    about,
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
  // Without fields, Enter must not confirm by accident.
  if (inputs.length === 0) dialog.querySelector("button.plain").focus();
}

/** Returns the input of a field by type, and a function that reads it. An empty field is `undefined`. */
function input(field, id, changed) {
  if (field.type === "rows") return rows(field, id, changed);
  if (field.type === "days") return days(field, id);
  const common = { id, name: field.name, required: field.required ?? true, "aria-describedby": field.hint && `${id}-hint` };
  let control;
  if (field.options) control = h("select", common, field.options.map(([key, text]) => h("option", { value: key, selected: key === field.value }, text)));
  else if (field.type === "checkbox") control = h("input", { id, name: field.name, type: "checkbox", checked: field.value });
  else control = line(field, common);
  const hint = field.hint && h("p", { class: "hint", id: `${id}-hint` }, field.hint);
  const label = h("label", { for: id }, field.label);
  const element = field.type === "checkbox" ? h("div", { class: "field check wide" }, control, label) : h("div", { class: `field ${field.wide ? "wide" : ""}` }, label, control, hint);
  return { field, element, read: () => read(field, control) };
}

function line(field, common) {
  const kind = { integer: "number", moment: "datetime-local", clock: "text", user: "text" }[field.type] ?? field.type ?? "text";
  const isWhole = field.type === "integer";
  const control = h("input", {
    ...common, type: kind, autocomplete: "off", min: field.min ?? (isWhole ? 0 : undefined), max: field.max, step: isWhole ? 1 : undefined,
    maxlength: field.maxlength ?? (field.type === "user" ? 128 : kind === "text" ? 200 : undefined), pattern: { clock: TIME, user: USER }[field.type] ?? field.pattern, placeholder: field.type === "clock" ? "09:00" : undefined,
  });
  control.value = (field.type === "moment" ? here(field.value) : field.value) ?? "";
  return control;
}

function read(field, control) {
  if (field.type === "checkbox") return control.checked;
  const text = control.value.trim();
  if (text === "") return undefined;
  if (field.type === "integer") return Number(text);
  if (field.type === "user") return user(text);
  return field.type === "moment" ? new Date(text).toISOString() : text;
}

/** Returns a user for JSON: digits of an integer are a number. */
const user = (text) => (/^[1-9][0-9]*$/.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : text);

/** Formats a time for a `datetime-local` input, in local time. */
function here(moment) {
  if (!moment) return undefined;
  const at = new Date(moment);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

/** Weekdays as checkboxes. */
function days(field, id) {
  const ticks = WEEK.map((name, at) => h("input", { type: "checkbox", id: `${id}-${name}`, value: name, checked: (field.value ?? []).includes(name), "aria-label": day.name(day.plus("2024-01-01", at), { weekday: "long" }) }));
  const element = h("fieldset", { class: "field days" }, h("legend", { class: "label" }, field.label), h("div", { class: "ticks" }, ticks.map((tick, at) => h("span", {}, tick, h("label", { for: tick.id, "aria-hidden": true }, weekday(at))))));
  return { field, element, read: () => ticks.filter((tick) => tick.checked).map((tick) => tick.value) };
}

/** A list of entries with the same fields; each can be removed. */
function rows(field, id, changed) {
  const list = h("div", { class: "rows" });
  const there = [];
  let count = 0;
  function add(value = {}) {
    const number = count;
    count += 1;
    const inputs = field.columns.map((column) => input({ ...column, value: value[column.name] ?? column.value }, `${id}-${number}-${column.name}`, changed));
    const row = { inputs };
    row.element = h("div", { class: "one" }, h("div", { class: "fields" }, inputs.map((it) => it.element)), h("button", { type: "button", class: "slim plain danger", "aria-label": `${t.common_remove}: ${field.label}`, onclick: remove }, "×"));
    function remove() {
      there.splice(there.indexOf(row), 1);
      row.element.remove();
      adding.focus();
      changed();
    }
    there.push(row);
    list.append(row.element);
    return row;
  }
  const adding = button(field.add, () => { add().element.querySelector("input, select")?.focus(); changed(); }, "slim");
  adding.id = `${id}-add`;
  for (const value of field.value ?? []) add(value);
  const element = h("fieldset", { class: "field wide", id }, h("legend", { class: "label" }, field.label), field.hint && h("p", { class: "hint" }, field.hint), list, adding);
  return { field, element, read: () => there.map((row) => Object.fromEntries(row.inputs.map((it) => [it.field.name, it.read()]))) };
}

/** A button that cancels an object by id. */
export const ending = (title, sentence, id, path) =>
  h("button", { type: "button", class: "slim danger", onclick: () => act({ title, will: fill(sentence, { id }), tone: "danger", request: () => ({ method: "POST", path, body: {} }) }) }, title);
