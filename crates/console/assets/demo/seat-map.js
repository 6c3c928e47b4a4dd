// A seat map of buttons with arrow-key navigation, updated while other customers choose.
import { el } from "./ui.js";
import { fill, money, t } from "../texts.js";

/** Groups the seats of a section into rows by the letters of their labels. */
function rowsOf(seats) {
  const rows = new Map();
  for (const seat of seats) {
    const name = `${seat.section ?? ""}/${seat.label.replace(/\d+$/, "")}`;
    if (!rows.has(name)) rows.set(name, []);
    rows.get(name).push(seat);
  }
  return [...rows.values()];
}

export function seatMap(seats, currency, changed) {
  const byId = new Map(seats.map((seat) => [seat.id, seat]));
  const picked = new Set();
  const buttons = new Map();
  const chosen = () => [...picked].map((id) => byId.get(id));

  const words = { AVAILABLE: t.hall_free, HELD: t.hall_held, RESERVED: t.hall_sold };
  const nameOf = (seat) => fill(t.hall_seat_label, {
    section: seat.section ?? "", label: seat.label, price: money(seat.price, currency),
    status: picked.has(seat.id) ? t.hall_chosen : words[seat.status],
  }).trim();

  function dress(seat) {
    const button = buttons.get(seat.id);
    const isFree = seat.status === "AVAILABLE";
    button.className = `seat ${seat.status.toLowerCase()}`;
    button.setAttribute("aria-pressed", String(picked.has(seat.id)));
    // Not `disabled`, so that keyboard focus can pass and screen readers announce the seat.
    button.setAttribute("aria-disabled", String(!isFree));
    button.setAttribute("aria-label", nameOf(seat));
  }

  function toggle(id) {
    const seat = byId.get(id);
    if (seat.status !== "AVAILABLE") return;
    if (!picked.delete(id)) picked.add(id);
    dress(seat);
    changed(chosen());
  }

  const rows = rowsOf(seats);
  const grid = rows.map((row) => row.map((seat) => seat.id));
  const rowElements = rows.map((row, line) => el("div", { class: "seats", role: "row" },
    el("span", { class: "row-name", role: "rowheader" }, row[0].label.replace(/\d+$/, "")),
    row.map((seat, column) => {
      const press = () => {
        walkTo(line, column);
        toggle(seat.id);
      };
      // One tab stop for the whole map; arrow keys move inside.
      const tabindex = line === 0 && column === 0 ? "0" : "-1";
      const button = el("button", { type: "button", "data-seat": seat.label, tabindex, onclick: press }, seat.label.replace(/^\D+/, ""));
      buttons.set(seat.id, button);
      return el("span", { role: "gridcell" }, button);
    })));

  let here = [0, 0];

  function walkTo(line, column) {
    const row = Math.min(Math.max(line, 0), grid.length - 1);
    const place = Math.min(Math.max(column, 0), grid[row].length - 1);
    buttons.get(grid[here[0]][here[1]]).tabIndex = -1;
    here = [row, place];
    const button = buttons.get(grid[row][place]);
    button.tabIndex = 0;
    button.focus();
  }

  const sections = new Map();
  rows.forEach((row, line) => {
    const name = row[0].section ?? "";
    if (!sections.has(name)) sections.set(name, { price: row[0].price, lines: [] });
    sections.get(name).lines.push(rowElements[line]);
  });
  const element = el("div", { class: "map" },
    el("p", { class: "stage-bar" }, t.hall_stage),
    el("div", { role: "grid", "aria-label": t.hall_choose, "aria-describedby": "map-keys", onkeydown: (event) => {
      const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!step) return;
      event.preventDefault();
      walkTo(here[0] + step[0], here[1] + step[1]);
    } }, [...sections].map(([name, { price, lines }]) => el("div", { role: "rowgroup", class: "section" },
      el("p", { class: "section-name", role: "presentation" }, el("strong", {}, name), ` ${money(price, currency)}`), lines))),
    el("ul", { class: "legend" },
      [["available", t.hall_free], ["mine", t.hall_chosen], ["held", t.hall_held], ["reserved", t.hall_sold]].map(([kind, word]) =>
        el("li", {}, el("i", { class: `seat ${kind}`, "aria-hidden": "true" }), word))),
    el("p", { class: "quiet small", id: "map-keys" }, t.hall_keys));
  seats.forEach(dress);

  return {
    element, chosen,
    announce: () => changed(chosen()),
    /** Updates the states of seats; a seat taken by another customer is deselected. */
    update(next) {
      let lost = false;
      for (const seat of next) {
        const old = byId.get(seat.id);
        if (!old || old.status === seat.status) continue;
        byId.set(seat.id, seat);
        if (seat.status !== "AVAILABLE") lost = picked.delete(seat.id) || lost;
        dress(seat);
      }
      if (lost) changed(chosen());
    },
  };
}
