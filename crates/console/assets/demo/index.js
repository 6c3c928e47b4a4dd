// The start page. Without authentication the sale simulation can be started from here.
if (document.getElementById("sale")) await import("./sale.js");
