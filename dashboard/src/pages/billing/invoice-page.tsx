/** One closed month, to read and to print. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Download, Printer } from 'lucide-react'
import type { ReactNode } from 'react'
import { useCan } from '../../api/me.ts'
import { problemOf } from '../../api/problem.ts'
import { monthName } from '../../lib/time.ts'
import { Button, LinkButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { downloadEntries } from './downloads.ts'
import { InvoicePaper } from './invoice-paper.tsx'
import { type Invoice, invoiceQuery } from './queries.ts'
import './print.css'

export function InvoicePage() {
  if (useCan('billing')) return <OneInvoice />
  return (
    <InvoiceFrame title="Invoice">
      <Forbidden what="invoices" right="billing" />
    </InvoiceFrame>
  )
}

const route = getRouteApi('/billing/invoices/$invoiceId')

function OneInvoice() {
  const { invoiceId } = route.useParams()
  const query = useQuery(invoiceQuery(invoiceId))
  const { data: invoice, error } = query
  const isUnknown = error !== null && problemOf(error).status === 404
  return (
    <InvoiceFrame
      title={invoice === undefined ? 'Invoice' : `Invoice for ${monthName(invoice.period_start)}`}
      actions={invoice !== undefined && <Actions invoice={invoice} />}
    >
      {isUnknown ? (
        <Empty title="No invoice has this ID" action={<AllInvoices />} />
      ) : (
        <Loaded query={query} what="this invoice" skeleton={<Skeleton className="h-96 w-full" />}>
          {(loaded) => <InvoicePaper invoice={loaded} />}
        </Loaded>
      )}
    </InvoiceFrame>
  )
}

interface InvoiceFrameProps {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}

function InvoiceFrame({ title, actions, children }: InvoiceFrameProps) {
  return (
    <div className="mx-auto max-w-4xl">
      <Page title={title} parent={{ to: '/billing', search: { tab: 'invoices' }, label: 'Invoices' }} actions={actions}>
        {children}
      </Page>
    </div>
  )
}

function AllInvoices() {
  return (
    <LinkButton to="/billing" search={{ tab: 'invoices' }}>
      All invoices
    </LinkButton>
  )
}

function Actions({ invoice }: { readonly invoice: Invoice }) {
  return (
    <div className="flex gap-2 print:hidden">
      <Menu label="Download" trigger={<Button icon={Download}>Download</Button>} items={downloadEntries(invoice)} />
      <Button icon={Printer} onClick={() => window.print()}>
        Print
      </Button>
    </div>
  )
}
