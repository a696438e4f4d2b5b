/** The page: data, router, and what stands around every view. */
import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { problemOf } from './api/problem.ts'
import { reloadOnNewVersion } from './new-version.ts'
import { createAppRouter } from './router.tsx'
import './shell/shell.css'

/** What a repeat may mend is asked for again, twice; a refusal is an answer. */
const MAX_RETRIES = 2

const queryClient = new QueryClient({
  queryCache: new QueryCache(),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      retry: (failures, error) => {
        const { status } = problemOf(error)
        return failures < MAX_RETRIES && (status === 0 || status === 429 || status >= 500)
      },
      retryDelay: (attempt, error) => problemOf(error).retryAfterMs ?? Math.min(1000 * 2 ** attempt, 8000),
    },
  },
})
const router = createAppRouter(queryClient)

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}

reloadOnNewVersion()
const root = document.getElementById('root')
if (root === null) throw new Error('The page has no root element.')
createRoot(root).render(
  <StrictMode>
    <CSPProvider disableStyleElements>
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </CSPProvider>
  </StrictMode>,
)
