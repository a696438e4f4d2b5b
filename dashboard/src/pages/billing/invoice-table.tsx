/** Tables of an invoice: the same on paper as on a screen, which those of the kit are not. */
import type { ReactNode } from 'react'
import { formatUsd } from '../../lib/format.ts'
import { classNames } from '../../ui/class-names.ts'

interface InvoiceTableProps {
  readonly label: string
  /** The first is on the left; all others are where numbers are. */
  readonly columns: readonly string[]
  /** These columns are only where there is room: on wide screens and on paper. */
  readonly roomy?: readonly string[]
  readonly children: ReactNode
  /** The cells of the last row. */
  readonly total: ReactNode
}

export const ROOMY = 'max-sm:hidden print:table-cell'

export function InvoiceTable({ label, columns, roomy = [], children, total }: InvoiceTableProps) {
  return (
    <table className="w-full border-collapse [&_tbody_tr]:border-b [&_tbody_tr]:border-line">
      <caption className="sr-only">{label}</caption>
      <thead>
        <tr className="border-b border-strong">
          {columns.map((column, index) => (
            <th
              key={column}
              scope="col"
              className={classNames(
                'py-1.5 text-xs font-medium text-soft',
                index === 0 ? 'pr-3 text-left' : 'pl-4 text-right whitespace-nowrap',
                roomy.includes(column) && ROOMY,
              )}
            >
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
      <tfoot className="font-semibold">
        <tr>{total}</tr>
      </tfoot>
    </table>
  )
}

export function NameCell({ children, note }: { readonly children: ReactNode; readonly note?: ReactNode }) {
  return (
    <th
      scope="row"
      className="py-2 pr-3 text-left align-top font-normal wrap-anywhere text-ink in-[tfoot]:font-semibold"
    >
      {children}
      {note !== undefined && note !== '' && <span className="block text-xs font-normal text-soft">{note}</span>}
    </th>
  )
}

export function TextCell({ children, roomy = false }: { readonly children?: ReactNode; readonly roomy?: boolean }) {
  return (
    <td className={classNames('py-2 pl-4 text-right align-top whitespace-nowrap text-ink', roomy && ROOMY)}>
      {children}
    </td>
  )
}

export function AmountCell({ value }: { readonly value: number }) {
  return <TextCell>{formatUsd(value)}</TextCell>
}
