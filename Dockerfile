# syntax=docker/dockerfile:1
FROM swift:6.3-bookworm AS builder
WORKDIR /src
COPY scripts/dependencies scripts/
RUN scripts/dependencies build
COPY Package.swift ./
COPY Sources Sources
# The manifest names these targets too; they needn't be here to build the product, but their folders must exist.
COPY Tests Tests
COPY Examples Examples
COPY Benchmarks Benchmarks
COPY scripts/release scripts/
# What `recast --version` says: there is no git here.
ARG RECAST_COMMIT=""
ARG RECAST_DATE=""
RUN scripts/release --product recast -Xlinker -s \
    && install -D "$(scripts/release --show-bin-path)/recast" /out/recast

FROM debian:bookworm-slim
COPY scripts/dependencies /tmp/recast/scripts/
RUN /tmp/recast/scripts/dependencies runtime \
    && rm -rf /tmp/recast /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin recast
COPY --from=builder /out/recast /usr/local/bin/recast
# Settings of one's own are mounted over these; the health check asks the admin port that they name.
COPY config/production.yaml /etc/recast/recast.yaml
USER 10001
# As pid 1 Recast handles SIGTERM itself: it drains and exits with 0.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=4s --start-period=5s CMD ["recast", "probe", "127.0.0.1:9901", "/ready"]
ENTRYPOINT ["recast"]
CMD ["serve", "/etc/recast/recast.yaml"]
