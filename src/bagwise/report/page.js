"use strict";
// Sort tables by a click on a heading, and expand all bags for printing.
const number = text => {
  const found = /[-\u2212+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?/i.exec(text);
  return found ? parseFloat(found[0].replace(/,/g, "").replace("\u2212", "-")) : NaN;
};
const words = new Intl.Collator(undefined, { numeric: true });
const compare = (isNumber, sign) => (a, b) => {
  if (!isNumber) return sign * words.compare(a.key, b.key);
  const x = number(a.key), y = number(b.key);
  // Cells without a numeric value are last in both directions.
  if (isNaN(x) || isNaN(y)) return isNaN(x) - isNaN(y);
  return sign * (x - y);
};
for (const button of document.querySelectorAll("table.sortable th button")) {
  button.addEventListener("click", () => {
    const head = button.parentElement, table = head.closest("table"), body = table.tBodies[0];
    const isNumber = head.classList.contains("n");
    const before = head.getAttribute("aria-sort");
    // The first click sorts numeric columns in descending order and text columns in ascending order.
    const up = before ? before !== "ascending" : !isNumber;
    for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const rows = Array.from(body.rows, row => ({ row, key: row.cells[head.cellIndex].textContent.trim() }));
    rows.sort(compare(isNumber, up ? 1 : -1));
    body.append(...rows.map(each => each.row));
  });
}
const folds = Array.from(document.querySelectorAll("details"));
let closed = [];
addEventListener("beforeprint", () => {
  closed = folds.filter(fold => !fold.open);
  for (const fold of closed) fold.open = true;
});
addEventListener("afterprint", () => {
  for (const fold of closed) fold.open = false;
});
