/** What the charts of Home have in common. */
import { formatUsd } from '../../lib/format.ts'
import { AppLink, type LinkTarget } from '../../ui/app-link.tsx'

/** In CSS pixels: all four are seen at once on a laptop. */
export const CHART_HEIGHT = 168

/** To the cent, and exactly where that would be nothing. */
export function spendText(usd: number): string {
  return formatUsd(usd, usd !== 0 && Math.abs(usd) < 0.01 ? 'row' : 'total')
}

export function TotalLink({ target, text }: { readonly target: LinkTarget; readonly text: string }) {
  return (
    <AppLink {...target} className="rounded-sm hover:text-accent hover:underline">
      {text}
    </AppLink>
  )
}

/** A ratio; in its place, where there can be none, why. @param isKnown Whether the period before has been loaded. */
export function changeShown(change: number | undefined, isKnown: boolean): number | string | undefined {
  return isKnown ? (change ?? 'none in the period before') : undefined
}
