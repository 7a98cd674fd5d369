// Sorts the runs: a button a column that has keys; pressed again it turns the order round.
(() => {
	"use strict";
	const table = document.querySelector("table.runs");
	if (table === null) return;
	const body = table.tBodies[0];
	const heads = [...table.tHead.rows[0].cells];
	const order = new Intl.Collator("en", { numeric: true });
	const bar = document.createElement("p");
	bar.className = "sort";
	bar.append("Sort by");

	const sort = (column, button) => {
		const isUp = heads[column].ariaSort === "descending";
		const key = (row) => row.cells[column].dataset.key;
		const rows = [...body.rows].sort((a, b) => (isUp ? 1 : -1) * order.compare(key(a), key(b)));
		body.append(...rows);
		for (const head of heads) head.ariaSort = "none";
		heads[column].ariaSort = isUp ? "ascending" : "descending";
		for (const other of bar.querySelectorAll("button")) {
			other.ariaPressed = String(other === button);
			other.textContent = other.dataset.name;
		}
		button.textContent = `${button.dataset.name} ${isUp ? "\u2191" : "\u2193"}`;
	};

	for (const [column, head] of heads.entries()) {
		if (body.rows[0].cells[column].dataset.key === undefined) continue;
		const button = document.createElement("button");
		button.type = "button";
		button.dataset.name = button.textContent = head.textContent;
		button.ariaPressed = "false";
		button.addEventListener("click", () => sort(column, button));
		head.addEventListener("click", () => sort(column, button));
		bar.append(button);
	}
	table.parentElement.before(bar);
})();
