"use strict";
// Makes the titles of every table buttons that sort its rows. Without it the tables stay as they were written.
const collator = new Intl.Collator("en", { numeric: true });

// What a cell is sorted by: a number in a column of numbers, else its text; null for a cell that says nothing.
function sortKey(cell, numeric) {
  const text = cell === undefined ? "" : cell.textContent.trim();
  if (text === "" || text === "–") return null;
  if (!numeric) return text;
  if (text === "no limit") return Infinity;
  const number = Number.parseFloat(text.replaceAll(",", "").replace("< ", ""));
  return Number.isNaN(number) ? null : number;
}

function compare(a, b) {
  if (typeof a === "string") return collator.compare(a, b);
  return a === b ? 0 : a - b;
}

// Cells that say nothing stay last in either direction.
function sortBy(header, column) {
  const rising = header.getAttribute("aria-sort") !== "ascending";
  for (const other of header.parentNode.children) other.setAttribute("aria-sort", "none");
  header.setAttribute("aria-sort", rising ? "ascending" : "descending");
  const numeric = header.classList.contains("number");
  const body = header.closest("table").tBodies[0];
  const rows = [...body.rows].map((row) => ({ row, key: sortKey(row.cells[column], numeric) }));
  rows.sort((first, second) => {
    if (first.key === null || second.key === null) return (first.key === null) - (second.key === null);
    return rising ? compare(first.key, second.key) : compare(second.key, first.key);
  });
  body.replaceChildren(...rows.map(({ row }) => row));
}

for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((header, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...header.childNodes);
    button.addEventListener("click", () => sortBy(header, column));
    header.append(button);
    header.setAttribute("aria-sort", "none");
  });
}
