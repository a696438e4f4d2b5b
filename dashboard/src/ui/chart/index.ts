/** Charts, hand-made in SVG: small, themed by tokens, and without a style or script that the content policy forbids. */
export { ChartFrame, type ChartFrameProps, ChartTable, type ChartTableProps } from './chart-frame.tsx'
export { LineChart, type LineChartProps, Sparkline, type SparklineProps } from './line-chart.tsx'
export type { SeriesChartProps } from './plot.tsx'
export { SharedMoment } from './reading.ts'
export type { ChartPoint, ChartSeries } from './series.ts'
export { StackedBars } from './stacked-bars.tsx'
