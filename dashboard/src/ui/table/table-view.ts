/** How each table is seen in this browser. Read before the first paint of the table, so that nothing moves afterwards. */
import { type ReactNode, useSyncExternalStore } from 'react'
import { createStore } from '../../lib/browser-store.ts'
import { DEFAULT_VIEW, parseTableView, renderTableView, type TableView } from '../../lib/table-view.ts'

/** What of a column its visibility depends on. */
export interface ViewColumn {
  readonly id: string
  readonly header: ReactNode
  /** Hidden in windows narrower than this; columns of `md` and `lg` are not in cards either. */
  readonly hideBelow?: 'md' | 'lg' | '2xl'
  /** Names the row: its link, and its card's title. The first column by default. */
  readonly primary?: boolean
}

/** Whether cards show it as well. */
export function isInCards({ hideBelow }: ViewColumn): boolean {
  return hideBelow === undefined || hideBelow === '2xl'
}

/** The column that names the row. */
export function primaryOf<Column extends ViewColumn>(columns: readonly Column[]): Column | undefined {
  return columns.find(({ primary }) => primary === true) ?? columns[0]
}

const store = createStore<TableView>({ name: 'table', parse: parseTableView, render: renderTableView })

/** @param id Of the table; undefined: the table has no View menu. */
export function useTableView(id: string | undefined): TableView {
  return useSyncExternalStore(store.subscribe, () => (id === undefined ? DEFAULT_VIEW : store.read(id)))
}

export function saveTableView(id: string, view: TableView): void {
  store.write(view, id)
}
