/* What only a browser can do: to see that somebody has stopped typing, images, the clipboard. */

/* A text counts as typed after a while without a key. (Controls that wait by themselves would also
   repeat, later, what the address has set, and so undo a second step back.) */
(function () {
    const settled = 300, timers = {};
    document.addEventListener("input", function (event) {
        const field = event.target;
        if (!field.id || !field.id.startsWith("field-") || field.readOnly) {
            return;
        }
        clearTimeout(timers[field.id]);
        timers[field.id] = setTimeout(function () {
            window.dash_clientside.set_props(field.id, {value: field.value});
        }, settled);
    });
    window.addEventListener("popstate", function () {
        Object.values(timers).forEach(clearTimeout);
    });
})();

window.dash_clientside = Object.assign({}, window.dash_clientside, {
    explorer: {
        image: function (clicks) {
            const context = window.dash_clientside.callback_context;
            const button = context.triggered_id;
            // buttons that appear set it off as well, with a value of nothing
            if (!button || context.triggered.length !== 1 || !context.triggered[0].value) {
                return window.dash_clientside.no_update;
            }
            const graph = document
                .getElementById("figure-" + button.image)
                .querySelector(".js-plotly-plot");
            const name = "shiftdp-" + button.image;
            return window.Plotly.downloadImage(
                {data: graph.data, layout: graph.layout},
                {format: button.format, width: 800, height: 500, scale: 2, filename: name}
            ).then(function () {
                return "Saved " + name + "." + button.format + ".";
            });
        },
        copy: function (python, command, python_text, command_text) {
            const button = window.dash_clientside.callback_context.triggered_id;
            const text = button === "copy-python" ? python_text : command_text;
            return navigator.clipboard.writeText(text).then(
                function () { return "Copied."; },
                function () { return "The browser does not allow to copy; select the text."; }
            );
        },
    },
});
