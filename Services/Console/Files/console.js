// Adds the viewer's own time to every time on the page; without this script they stand in UTC alone.
"use strict";
(function () {
  const format = new Intl.DateTimeFormat(document.documentElement.lang, {
    dateStyle: "medium", timeStyle: "medium",
  });
  function addLocalTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([title])")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      time.title = time.textContent;
      const utc = document.createElement("small");
      utc.textContent = " (" + time.textContent + ")";
      time.textContent = format.format(moment);
      time.append(utc);
    }
  }
  addLocalTimes(document);
  document.addEventListener("htmx:afterSettle", function () { addLocalTimes(document); });
})();
