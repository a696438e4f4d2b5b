/** Charts, hand-made in SVG: small, themed by tokens, and without a style or script that the content policy forbids. */
export { ChartFrame, type ChartFrameProps } from './chart-frame.tsx'
export { ChartTable, type ChartTableProps } from './chart-table.tsx'
export { LineChart, type LineChartProps } from './line-chart.tsx'
export type { SeriesChartProps } from './plot.tsx'
export type { ChartPoint, ChartSeries } from './series.ts'
export { Sparkline, type SparklineProps } from './sparkline.tsx'
export { StackedBars } from './stacked-bars.tsx'
