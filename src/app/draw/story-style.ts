/** The look of a post-mortem's page: by day, by night, on a narrow screen, and on paper. */
export const style = `
:root{--text:#1f2328;--dim:#59636e;--line:#d0d7de;--back:#fff;--good:#1a7f37;--bad:#cf222e;--warn:#9a6700;--running:#0969da}
@media screen and (prefers-color-scheme:dark){:root{color-scheme:dark;--text:#e6edf3;--dim:#9198a1;--line:#3d444d;--back:#0d1117;--good:#3fb950;--bad:#f85149;--warn:#d29922;--running:#4493f8}.graph:has(svg){background:#f6f8fa}}
*{box-sizing:border-box}body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back);overflow-wrap:anywhere}
main{max-width:60em;margin:0 auto;padding:1.5em 1em 4em}h1{font-size:1.5em;margin:0}h2{font-size:1.1em;margin:1.5em 0 .4em}h3{font-size:1em;margin:0}p{margin:.25em 0}
.facts,.seq,.event,.left span,.taken span,i{color:var(--dim);font-weight:400;font-size:.9em}.seq{font-family:ui-monospace,monospace}a{color:var(--running)}q,code,pre{unicode-bidi:isolate}
.summary ul{margin:0;padding-left:1.3em}.summary h2{margin-top:1em}
.graph{overflow:auto;max-height:90vh;border:1px solid var(--line);border-radius:8px;padding:1em}.graph svg{display:block;max-width:100%;height:auto;margin:0 auto}
.legend{color:var(--dim);font-size:.85em}.legend span{display:inline-block;margin-right:.9em}.legend i{display:inline-block;width:.9em;height:.9em;margin-right:.35em;vertical-align:-.1em;border:1.5px solid #b6bdc5;background:#fff;print-color-adjust:exact}
.legend i.good{border-color:#1a7f37;background:#dcf5e3}.legend i.bad{border-color:#cf222e;background:#ffe2e0}.legend i.warn{border-color:#9a6700;background:#fff4ce}.legend i.running{border-color:#0969da;background:#ddf0ff}.legend i.skipped{border-color:#8c959f;background:#f0f1f3}
article{border-left:4px solid var(--line);padding:.5em .9em;margin:.6em 0}article.good{border-color:var(--good)}article.bad{border-color:var(--bad)}article.warn{border-color:var(--warn)}article.running{border-color:var(--running)}article:target{outline:2px solid var(--running)}
.good .tone,h1 .good,.outline .good{color:var(--good)}.bad .tone,h1 .bad,div.bad,.outline .bad{color:var(--bad)}.warn .tone,h1 .warn,div.warn,.outline .warn{color:var(--warn)}.running .tone,h1 .running{color:var(--running)}
code,pre{font:12.5px/1.45 ui-monospace,monospace;white-space:pre-wrap}pre{border:1px solid var(--line);border-radius:6px;padding:.6em;margin:.4em 0}
ul.edges{list-style:none;padding:0;margin:.3em 0}.left{color:var(--dim)}.taken{font-weight:600}table{border-collapse:collapse;margin:.3em 0;width:100%}
th,td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;font-weight:400;border-top:1px solid var(--line)}th[scope=row]{width:32%}.before{width:30%}summary{color:var(--dim);cursor:pointer;font-size:.9em}.long summary{color:inherit;font-size:1em}
.outline{columns:22em;margin:0}
@media (max-width:36em){article{margin-left:0!important;padding-right:0}tr,th,td{display:block;width:auto!important;padding-right:0}th,td{border:0}tr{border-top:1px solid var(--line)}tr:has([scope=col]){display:none}td{padding-left:1em}td:empty{display:none}.before::before{content:"before: ";color:var(--dim)}.before+td::before{content:"after: ";color:var(--dim)}}
@media print{main{max-width:none;padding:0}.graph{max-height:none;overflow:visible;border:0;padding:0}.graph svg{min-width:0!important}article,tr{break-inside:avoid}h2{break-after:avoid}}`;
