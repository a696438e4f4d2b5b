/** What is listed, as a file: everything that the filters of the address let through, not only what is on the page. */
import { useState } from 'react'
import { downloadFile } from '../../api/download.ts'
import { formatCount } from '../../lib/format.ts'
import { announce } from '../../ui/announcer.tsx'
import { DownloadButton } from '../../ui/download-button.tsx'
import { LIST, type RequestsQuestion } from './queries.ts'

const MAX_ROWS = 10_000

interface ExportButtonProps {
  readonly question: Omit<RequestsQuestion, 'isLive'>
  readonly disabled: boolean
}

/** A file that could not have everything says so, below the toolbar, until something else is asked for. */
export function ExportButton({ question, disabled }: ExportButtonProps) {
  const { period, filters, order } = question
  const [cut, setCut] = useState<string>()
  const bounds = { period_start: period.start, period_end: period.end }
  const query = new URLSearchParams({ ...bounds, ...filters, order, format: 'csv', limit: String(MAX_ROWS) }).toString()
  const download = async () => {
    const { name, headers } = await downloadFile(`${LIST}?${query}`, 'turnpike-requests.csv')
    const isCut = headers.has('x-next-cursor')
    setCut(isCut ? query : undefined)
    if (isCut) announce(cutNote(order))
    return name
  }
  return (
    <>
      <DownloadButton download={download} disabled={disabled} className="ml-auto">
        Export CSV
      </DownloadButton>
      {cut === query && <p className="order-last basis-full text-sm text-soft">{cutNote(order)}</p>}
    </>
  )
}

function cutNote(order: 'asc' | 'desc'): string {
  const which = order === 'desc' ? 'newest' : 'oldest'
  return `The file has the ${which} ${formatCount(MAX_ROWS)} of the period. Choose a shorter period for the others.`
}
