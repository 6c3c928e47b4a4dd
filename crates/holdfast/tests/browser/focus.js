// Where the focus goes, and whether one sees it there. Run inside the page after a key was pressed, so that focus is shown.
const complaints = [];
const show = (it) => it.outerHTML.replace(/\s+/g, " ").slice(0, 140);
const scope = document.querySelector("dialog[open]") ?? document;
const before = document.activeElement;
const reachable = [...scope.querySelectorAll("button, a[href], input:not([type=hidden]), select, textarea, summary, [tabindex]")]
  .filter((it) => it.getClientRects().length > 0 && !it.disabled && it.tabIndex >= 0);
const numbers = (text) => text.match(/-?[\d.]+/g)?.map(Number) ?? [];
for (const it of reachable) {
  it.focus({ preventScroll: true, focusVisible: true });
  if (document.activeElement !== it) {
    complaints.push(`takes no focus: ${show(it)}`);
    continue;
  }
  const style = getComputedStyle(it);
  const isShown = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2 && (numbers(style.outlineColor)[3] ?? 1) > 0.5;
  if (!isShown) complaints.push(`shows no focus: ${show(it)}`);
}
before?.focus?.();
return { complaints, count: reachable.length };
