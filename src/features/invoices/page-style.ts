/** For screens and for paper, A4 and Letter alike. Figures stand below each other: digits are of one width. */
export const INVOICE_STYLE = `
:root { color-scheme: light; --ink: #16191d; --soft: #5c6670; --pale: #b3bac1; --line: #dfe3e7; --accent: #1f6f5c }
* { box-sizing: border-box }
body { margin: 0; background: #f3f4f5; color: var(--ink); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-print-color-adjust: exact; print-color-adjust: exact }
main { max-width: 800px; margin: 32px auto; padding: 56px 60px 40px; background: #fff; border-radius: 6px; box-shadow: 0 1px 3px #0002 }
p, dl, dd, h1, h2 { margin: 0 }
header { display: flex; justify-content: space-between; align-items: flex-start; padding-bottom: 24px; border-bottom: 2px solid var(--ink) }
.service { font-size: 22px; font-weight: 700; letter-spacing: -0.02em; line-height: 1.2 }
.service::before { content: ""; display: inline-block; width: 0.62em; height: 0.62em; margin-right: 0.42em; border-radius: 2px; background: var(--accent) }
header div { text-align: right }
h1 { font-size: 22px; font-weight: 600; line-height: 1.2 }
.number { color: var(--soft); font-variant-numeric: tabular-nums }
dl { display: grid; grid-template-columns: 2fr 2fr 1fr; gap: 24px; padding: 24px 0 8px }
dt, thead th { color: var(--soft); font-size: 11.5px; font-weight: 500; letter-spacing: 0.02em }
dd { font-weight: 500; overflow-wrap: anywhere }
small { display: block; color: var(--soft); font-size: 11.5px; font-weight: 400; overflow-wrap: anywhere }
section { margin-top: 32px }
h2 { font-size: 15px; font-weight: 600; break-after: avoid }
table { width: 100%; margin-top: 6px; border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums }
th, td { padding: 7px 0 7px 20px; text-align: right; vertical-align: top; white-space: nowrap }
th:first-child { min-width: 150px; padding-left: 0; text-align: left; white-space: normal; overflow-wrap: anywhere }
thead th { padding-bottom: 5px; border-bottom: 1px solid var(--line) }
tbody th { font-weight: 400 }
tbody tr + tr > * { border-top: 1px solid var(--line) }
tfoot > tr > * { border-top: 1px solid var(--ink); font-weight: 400 }
tfoot th:first-child { font-weight: 600 }
.movements th:nth-child(2), .movements td:nth-child(2) { width: 110px }
.movements th:nth-child(3), .movements td:nth-child(3) { width: 190px }
td i { color: var(--pale); font-style: normal; font-weight: 400 }
.total { display: flex; justify-content: space-between; align-items: baseline; gap: 20px; margin-top: 32px; padding: 14px 18px; border-radius: 4px; background: #eef5f2; font-size: 15px; font-weight: 500; break-inside: avoid }
.total strong { font-size: 20px; font-weight: 650; font-variant-numeric: tabular-nums lining-nums }
.none { margin-top: 6px; color: var(--soft) }
footer { margin-top: 40px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--soft); font-size: 11.5px }
tr { break-inside: avoid }
@media (max-width: 640px) {
  main { margin: 0; padding: 24px 18px; border-radius: 0 }
  section { overflow-x: auto }
  .movements th:nth-child(n + 2), .movements td:nth-child(n + 2) { width: auto }
  .total { flex-wrap: wrap }
  dl { grid-template-columns: 1fr; gap: 12px }
}
@page { margin: 16mm 15mm }
@media print {
  body { background: none; font-size: 10pt }
  section, .total { margin-top: 24px }
  main { max-width: none; margin: 0; padding: 0; border-radius: 0; box-shadow: none }
}
`
