// A table as text, to be taken elsewhere: as CSV for a spreadsheet, or as Markdown.

import { copyButton } from "./copy.js";
import { numberOf } from "./value.js";
import { t } from "../language.js";

/** Return two buttons that copy a table; `read` gives its rows, the header first, each as a list of texts. */
export function tableTools(read) {
  const tools = document.createElement("div");
  tools.className = "tk-table-tools";
  const csv = copyButton((button) => csvOf(read(button)), t("copyCsv"));
  const markdown = copyButton((button) => markdownOf(read(button)), t("copyTableMarkdown"));
  tools.append(csv, markdown);
  return tools;
}

/** Return the rows of a table that is on the page. */
export function rowsOf(table) {
  return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
}

/** Return rows as CSV. A text that a spreadsheet would take for a formula is marked as the text that it is. */
function csvOf(rows) {
  return rows.map((row) => row.map(csvCell).join(",")).join("\r\n");
}

function csvCell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) && numberOf(text) === null ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Return rows as a Markdown table. */
function markdownOf([head = [], ...rows]) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const written = (row) => line(row.map((text) => text.replaceAll("|", "\\|").replace(/\s+/g, " ")));
  return [written(head), line(head.map(() => "---")), ...rows.map(written)].join("\n");
}
