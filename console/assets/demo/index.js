// The start page needs nothing of its own. Where anybody may be a guest, the crowd can be sent from here.
if (document.getElementById("sale")) await import("./sale.js");
