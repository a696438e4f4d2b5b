# The gateway as an image: docker build --tag turnpike .
# The result is JavaScript alone: it is built once, on the machine's own platform, for amd64 and arm64
# (docker buildx build --platform linux/amd64,linux/arm64 .).
ARG NODE_IMAGE=docker.io/library/node:26-bookworm-slim

FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
COPY dashboard/package.json dashboard/
COPY packages/ packages/
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && npm run build:dashboard -- --logLevel warn && npm run build:docs

# What runs: no development tools, and no Node.js from npm, since the image has one.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY dashboard/package.json dashboard/
COPY packages/ packages/
RUN npm ci --omit=dev --omit=optional --workspaces=false --ignore-scripts --no-audit --no-fund \
  && rm -rf dashboard packages package-lock.json .npmrc node_modules/.package-lock.json

FROM ${NODE_IMAGE} AS turnpike
LABEL org.opencontainers.image.title="Turnpike" \
  org.opencontainers.image.description="An open-source LLM gateway" \
  org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=packages /app/ ./
COPY --from=build /src/bin/ bin/
COPY --from=build /src/dist/ dist/
COPY --from=build /src/dashboard/dist/ dashboard/dist/
COPY --from=build /src/site/dist/ site/dist/
COPY catalogue/ catalogue/
COPY LICENSE turnpike.schema.json ./
RUN ln -s /app/bin/turnpike.js /usr/local/bin/turnpike \
  && chmod 0755 /app/bin/turnpike.js \
  && mkdir /data /etc/turnpike \
  && chown 1000:1000 /data \
  && chmod 0700 /data
ENV NODE_ENV=production HOST=0.0.0.0 PORT=7575 TURNPIKE_DATA_DIR=/data
# Of the image; a number, so that Kubernetes can tell that it is not root.
USER 1000:1000
VOLUME /data
# Where turnpike.yaml is looked for.
WORKDIR /etc/turnpike
EXPOSE 7575
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "require('node:http').get({ host: '127.0.0.1', port: process.env.PORT, path: '/healthz' }, ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["turnpike"]
CMD ["serve"]

# For workers that run agents (--target agents): git, and the sandbox of their commands.
FROM turnpike AS agents
USER 0
# hadolint ignore=DL3008
RUN apt-get update \
  && apt-get install --yes --no-install-recommends bubblewrap ca-certificates git \
  && rm -rf /var/lib/apt/lists/*
USER 1000:1000

FROM turnpike
