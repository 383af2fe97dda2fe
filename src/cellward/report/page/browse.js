"use strict";
// Leafs through long tables: search over codes, filter by marks, pages. All data stand in the page; every text is set as text, never as HTML.
for (const box of document.querySelectorAll(".cells")) {
  const block = document.getElementById(box.id + "-data");
  if (!block) continue;
  const data = JSON.parse(block.textContent);
  const body = box.querySelector("tbody"), tools = box.querySelector(".tools"), where = box.querySelector(".where");
  const query = box.querySelector(".query"), filter = box.querySelector(".filter");
  const back = box.querySelector(".back"), on = box.querySelector(".on");
  const count = data.index[0].length, marks = Array.from(data.marks, Number);
  const folded = data.codes.map(codes => codes.map(code => code.toLocaleLowerCase()));
  let found = null, first = 0;

  const grouped = (scaled, decimals, signed) => {
    const digits = String(Math.abs(scaled)).padStart(decimals + 1, "0");
    const whole = digits.slice(0, digits.length - decimals).replace(/\B(?=(\d{3})+$)/g, ",");
    return (scaled < 0 ? "−" : signed && scaled > 0 ? "+" : "") + whole + (decimals ? "." + digits.slice(-decimals) : "");
  };
  const entry = (tag, text, kind) => {
    const made = document.createElement(tag);
    made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };
  const row = cell => {
    const made = document.createElement("tr");
    if (data.level && data.level[cell] === data.level[0]) made.className = "sum";
    data.codes.forEach((codes, k) => made.append(entry("td", codes[data.index[k][cell]])));
    for (const column of data.columns) {
      const value = column.values[cell];
      const none = marks[cell] & data.withheld ? "×" : "";
      made.append(entry("td", value === null ? none : grouped(value, column.decimals, column.signed), "n"));
    }
    if (data.level) made.append(entry("td", data.level[cell], "n soft"));
    const last = entry("td", "", "marks");
    for (const [bit, letter, word] of data.chips)
      if (marks[cell] & bit) last.append(Object.assign(entry("abbr", letter, "chip " + letter), {title: word}));
    made.append(last);
    return made;
  };
  const show = () => {
    const total = found === null ? count : found.length, end = Math.min(first + data.page, total);
    const rows = [];
    for (let k = first; k < end; k++) rows.push(row(found === null ? k : found[k]));
    body.replaceChildren(...rows);
    where.textContent = total ? `${(first + 1).toLocaleString("en")} – ${end.toLocaleString("en")} of ${total.toLocaleString("en")}` : "no cell";
    back.disabled = first === 0;
    on.disabled = end >= total;
  };
  const search = () => {
    const words = query.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    const bit = filter ? Number(filter.value) : 0;
    first = 0;
    if (!words.length && !bit) found = null;
    else {
      // Every word has to be in a code of the cell: looked for once in each dimension's codes, not in each cell.
      const hits = words.map(word => folded.map(codes => Uint8Array.from(codes, code => code.includes(word) ? 1 : 0)));
      found = [];
      for (let cell = 0; cell < count; cell++)
        if ((!bit || marks[cell] & bit) && hits.every(hit => hit.some((has, k) => has[data.index[k][cell]]))) found.push(cell);
    }
    show();
  };
  query.addEventListener("input", search);
  if (filter) filter.addEventListener("change", search);
  back.addEventListener("click", () => { first = Math.max(0, first - data.page); show(); });
  on.addEventListener("click", () => { first += data.page; show(); });
  tools.hidden = false;
  show();
}
