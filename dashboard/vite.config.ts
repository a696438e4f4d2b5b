/** Builds the dashboard into `dist/`, each file also compressed beside it. Nothing is loaded from another origin. */
import tailwindcss from '@tailwindcss/vite'
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'
import { compressed } from './compressed.ts'

const GATEWAY = process.env['TURNPIKE_URL'] ?? 'http://localhost:8080'

// biome-ignore lint/style/noDefaultExport: Vite looks for it.
export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [react(), tailwindcss(), compressed()],
  build: {
    target: 'es2023',
    // Every file of its own: the policy of the pages knows no `data:` scripts or styles.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Of the packages that end up in the files, served beside them.
    license: { fileName: 'licenses.txt' },
    chunkSizeWarningLimit: 400,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/ },
            { name: 'icons', test: /node_modules[\\/]lucide-react[\\/]/ },
            { name: 'router', test: /node_modules[\\/]@tanstack[\\/](?!react-virtual|virtual-core)/ },
          ],
        },
      },
    },
  },
  server: {
    proxy: { '/v1': GATEWAY, '/auth': GATEWAY, '/sign-in': GATEWAY, '/openapi.json': GATEWAY, '/docs': GATEWAY },
  },
})
