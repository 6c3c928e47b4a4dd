// The start page needs nothing of its own: the crowd can be sent from here.
import "./sale.js";
