// Where code in tables may continue on the next line: behind a slash or a pair of colons, since browsers break paths in the midst of a
// name; and nowhere in an option such as `--listen ADDRESS`, which they break behind its dashes.
for (const code of document.querySelectorAll(".content table td code")) {
    if (code.textContent.length <= 22) {
        code.classList.add("short");
    } else if (!code.firstElementChild) {
        const parts = code.textContent.split(/(?<=\/|::)/);
        code.replaceChildren(...parts.flatMap((part) => [part, document.createElement("wbr")]).slice(0, -1));
    }
}

// On a telephone a table of keys is a list, in which each value is named by its column: docs/book.css has the form.
for (const table of document.querySelectorAll(".content table")) {
    const columns = [...table.querySelectorAll("th")].map((head) => head.textContent);
    if (columns[0] !== "key" && columns[0] !== "setting") continue;
    table.classList.add("keys");
    for (const cell of table.querySelectorAll("td")) {
        const column = columns[cell.cellIndex];
        cell.dataset.column = ["key", "setting", "meaning"].includes(column) ? "" : `${column}: `;
    }
}
