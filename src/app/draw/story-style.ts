/** The look of a post-mortem's page, by day and by night. */
export const style = `
:root{--text:#1f2328;--dim:#656d76;--line:#d0d7de;--back:#fff;--good:#1a7f37;--bad:#cf222e;--warn:#9a6700;--running:#0969da}
@media (prefers-color-scheme:dark){:root{--text:#e6edf3;--dim:#9198a1;--line:#3d444d;--back:#0d1117;--good:#3fb950;--bad:#f85149;--warn:#d29922;--running:#4493f8}.graph{background:#f6f8fa}}
*{box-sizing:border-box}body{margin:0;font:15px/1.5 system-ui,sans-serif;color:var(--text);background:var(--back)}
main{max-width:60em;margin:0 auto;padding:1.5em 1em 4em}h1{font-size:1.5em;margin:0}h2{font-size:1em;margin:0}p{margin:.25em 0}
.facts,.seq,.event,.left span,.taken span{color:var(--dim);font-weight:400;font-size:.9em}.seq{font-family:ui-monospace,monospace}
.graph{overflow-x:auto;border:1px solid var(--line);border-radius:8px;padding:1em;margin:1em 0}.graph svg{display:block;max-width:100%;height:auto;margin:0 auto}
article{border-left:4px solid var(--line);padding:.5em .9em;margin:.6em 0}article.good{border-color:var(--good)}article.bad{border-color:var(--bad)}article.warn{border-color:var(--warn)}article.running{border-color:var(--running)}
.good .tone,h1 .good{color:var(--good)}.bad .tone,h1 .bad,p.bad{color:var(--bad)}.warn .tone,h1 .warn{color:var(--warn)}.running .tone,h1 .running{color:var(--running)}
code,pre{font:12.5px/1.45 ui-monospace,monospace;overflow-wrap:anywhere;white-space:pre-wrap}pre{border:1px solid var(--line);border-radius:6px;padding:.6em}
ul.edges{list-style:none;padding:0;margin:.3em 0}.left{color:var(--dim)}.taken{font-weight:600}table{border-collapse:collapse;margin:.3em 0;width:100%}
th,td{text-align:left;vertical-align:top;padding:.15em .8em .15em 0;font-weight:400;border-top:1px solid var(--line)}summary{color:var(--dim);cursor:pointer;font-size:.9em}
.outline{columns:2}.outline .bad{color:var(--bad)}.outline .good{color:var(--good)}`;
