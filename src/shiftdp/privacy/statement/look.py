"""The style sheet of a statement: a page to read on any width, by day, by night, and on paper."""

STYLE = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#566173;--line:#d8dde5;--back:#fff;
--panel:#f5f7fa;--mark:#0b5cad;--area:#0b5cad1f;--loud:#a1240f;--loudback:#fdeeeb}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#a0abbb;--line:#343c48;
--back:#14181e;--panel:#1c222b;--mark:#7db7f5;--area:#7db7f52b;--loud:#ff9c88;--loudback:#3a1d18}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,-apple-system,
"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif}
main{max-width:52rem;margin:0 auto;padding:2rem 1.25rem 4rem}
header{border-bottom:3px solid var(--mark);padding-bottom:1rem}
h1{font-size:1.9rem;line-height:1.2;margin:.2rem 0 .6rem;overflow-wrap:anywhere}
h2{font-size:1.35rem;line-height:1.25;margin:2.6rem 0 .2rem;padding-top:.6rem;
border-top:1px solid var(--line)}
h3{font-size:1.05rem;margin:1.6rem 0 .5rem}
p{margin:.5rem 0}
.kind,.summary,figcaption{color:var(--soft)}
.kind{margin:0;font-size:.9rem;letter-spacing:.02em}
.headline{font-size:1.2rem;line-height:1.4}
.headline data{font-weight:700;color:var(--mark)}
.no{display:inline-block;min-width:1.5em;color:var(--mark)}
nav ol{display:flex;flex-wrap:wrap;gap:.3rem 1.4rem;list-style-position:inside;padding:0;
font-size:.92rem}
a{color:var(--mark)}
dl{margin:.4rem 0}
dl>div{display:grid;grid-template-columns:11rem 1fr;gap:.2rem 1rem;padding:.38rem 0;
border-bottom:1px solid var(--line)}
dt{color:var(--soft)}
dd{margin:0;overflow-wrap:anywhere}
ul{padding-left:1.2rem;margin:.4rem 0}
li{margin:.3rem 0}
nav li{margin:0}
data{font-variant-numeric:tabular-nums;font-weight:600}
code{font:.9em ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
table{border-collapse:collapse;width:100%;font-size:.94rem;margin:.8rem 0}
table.narrow{width:auto}
th,td{text-align:left;vertical-align:top;padding:.38rem .9rem .38rem 0;
border-bottom:1px solid var(--line);overflow-wrap:break-word}
td.s{white-space:nowrap}
th{color:var(--soft);font-weight:600;border-bottom-width:2px}
figure{margin:1rem 0;max-width:25rem;width:100%}
.beside{display:flex;flex-wrap:wrap;gap:0 3rem;align-items:flex-start}
.beside>h3,.beside>p{flex-basis:100%}
.beside>figure{flex:1 1 18rem}
svg{display:block;width:100%;height:auto;font:12px system-ui,sans-serif}
svg text{fill:var(--soft)}
svg path{fill:none}
svg .grid{stroke:var(--line);stroke-width:1}
svg .none{stroke:var(--soft);stroke-width:1.2;stroke-dasharray:4 4}
svg .curve{stroke:var(--mark);stroke-width:2.4;stroke-linejoin:round}
svg .area{fill:var(--area)}
.loud{background:var(--loudback);color:var(--loud);border-left:4px solid var(--loud);
padding:.7rem .9rem;font-weight:600}
.sign{background:var(--panel);border:1px solid var(--line);border-radius:6px;
padding:.2rem 1.2rem 1rem;margin-top:2rem;break-inside:avoid}
.rule{min-height:2.2rem}
.tall{min-height:4rem}
@media (max-width:40rem){
main{padding:1.2rem 1rem 3rem}
h1{font-size:1.5rem}
.headline{font-size:1.08rem}
dl>div{grid-template-columns:1fr;gap:0}
dt{font-size:.88rem}
table.words,table.words tbody,table.words tr,table.words td{display:block}
table.words thead{display:none}
table.words tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
table.words td{border:0;padding:.1rem 0}
table.words td::before{content:attr(data-label);display:block;color:var(--soft);font-size:.82rem}
table.words td:first-child{font-weight:600}
table.words td:first-child::before{content:none}
}
@media print{
:root{color-scheme:light;--ink:#000;--soft:#333;--line:#999;--back:#fff;--panel:#fff;--mark:#000;
--area:#00000014;--loud:#000;--loudback:#fff}
body{font-size:10.5pt}
main{max-width:none;padding:0}
nav{display:none}
h2,h3{break-after:avoid}
dl>div,tr,figure,li{break-inside:avoid}
figure{max-width:9cm}
@page{margin:18mm}
}
""".strip()
"""Colours by role, twice; a table of words becomes a list on a narrow screen."""
