// Draws every figure, folded ones when they are opened, and makes cards of tables that are too wide.
// Colours are variables of the style sheet: nothing is drawn again for another theme.
(() => {
	"use strict";
	const specs = JSON.parse(document.getElementById("figures").textContent);
	const views = new Map();
	const paper_px = 700;

	// Letters of the longest label of any legend.
	const longest = (node) => {
		if (node === null || typeof node !== "object") return 0;
		const domain = node.legend === null ? [] : (node.scale?.domain ?? []);
		const labels = Array.isArray(domain) ? domain.filter((label) => typeof label === "string") : [];
		return Math.max(0, ...labels.map((label) => label.length), ...Object.values(node).map(longest));
	};

	// As many labels side by side as there is room for, on paper too: a legend does not wrap by itself.
	const columns = (element, spec) =>
		Math.max(1, Math.floor((Math.min(element.clientWidth, paper_px) - 50) / (7 * longest(spec) + 40)));

	const draw = async (element) => {
		const spec = specs[element.dataset.figure];
		const legend = { ...spec.config.legend, columns: columns(element, spec) };
		const drawn = { ...spec, config: { ...spec.config, legend } };
		const { view } = await window.vegaEmbed(element, drawn, { actions: false, renderer: "svg" });
		views.get(element)?.finalize();
		views.set(element, view);
	};

	// What names a column stands in each cell of it, for cards; the roles outlive another display.
	const label = (table) => {
		const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
		table.role = "table";
		for (const part of table.querySelectorAll("thead, tbody")) part.role = "rowgroup";
		for (const row of table.rows) {
			row.role = "row";
			for (const cell of row.cells) {
				cell.role = { col: "columnheader", row: "rowheader", rowgroup: "rowheader" }[cell.scope] ?? "cell";
				if (cell.tagName === "TD") cell.dataset.label = names[cell.cellIndex];
			}
		}
	};
	const fit = (table) => {
		table.classList.remove("cards");
		table.classList.toggle("cards", table.offsetWidth > table.parentElement.clientWidth);
	};

	const isShown = (element) => element.closest("details:not([open])") === null;
	const showAll = (root) => {
		for (const table of root.querySelectorAll(".table > table")) if (isShown(table)) fit(table);
		for (const element of root.querySelectorAll(".chart"))
			if (isShown(element)) draw(element).catch(console.error);
	};

	for (const table of document.querySelectorAll(".table > table")) label(table);
	for (const fold of document.querySelectorAll("details"))
		fold.addEventListener("toggle", () => { if (fold.open) showAll(fold); });
	let width = innerWidth;
	let waiting;
	addEventListener("resize", () => {
		if (innerWidth === width) return;
		width = innerWidth;
		clearTimeout(waiting);
		waiting = setTimeout(showAll, 150, document);
	});
	addEventListener("beforeprint", () => {
		for (const view of views.values()) view.width(Math.min(view.width(), paper_px)).run();
	});
	addEventListener("afterprint", () => showAll(document));
	showAll(document);
})();
