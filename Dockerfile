# The image: Recast, the libraries that it loads, the authorities of TLS, and nothing else. scripts/image builds it, by this file,
# and says what is in it; docs/image.md has the rest.

# The one base, for every platform that it has, by its digest: swift:6.3-bookworm of 2026-09-19, Swift 6.3.3. Another one is
# given by --build-arg BASE=, as scripts/image --base does; it is Debian 12 with Swift in the path.
ARG BASE=swift:6.3.3-bookworm@sha256:7060a792f4cd9eaa0d00826d941cec00ab8d252d33b8b28bc8e105f51f2dba73
# hadolint ignore=DL3006
FROM ${BASE} AS builder
WORKDIR /src
COPY scripts/dependencies scripts/
RUN scripts/dependencies build image
COPY Package.swift ./
COPY Sources Sources
# They are in the binary, for `recast init` and `recast try`.
COPY config/recipes config/recipes
COPY config/recast.yaml config/
# The manifest names these targets too; they needn't be here to build the product, but their folders must exist.
COPY Tests Tests
COPY Examples Examples
COPY Benchmarks Benchmarks
COPY scripts/release scripts/revision scripts/
# What `recast --version` says: there is no git here.
ARG RECAST_COMMIT=""
ARG RECAST_DATE=""
RUN scripts/release --product recast
COPY scripts/image-root scripts/linked-packages scripts/
COPY deploy/image deploy/image
COPY LICENSE ./
# The time of the bill of materials.
ARG SOURCE_DATE_EPOCH=""
RUN scripts/image-root "$(scripts/release --show-bin-path)/recast" /out

FROM scratch
COPY --from=builder /out /
# Where bodies are spooled whose route names no other folder. This one and that of the admin socket are all that is written to:
# an engine mounts something there by itself, also where the root is read-only.
ENV TMPDIR=/var/spool/recast
VOLUME ["/run/recast", "/var/spool/recast"]
USER 10001:10001
EXPOSE 8080 9902
# As pid 1 Recast handles SIGTERM itself: it drains and exits with 0.
STOPSIGNAL SIGTERM
# By the status port, which settings of one's own should have; Kubernetes has probes instead.
HEALTHCHECK --interval=10s --timeout=4s --start-period=5s CMD ["/usr/bin/recast", "probe", "127.0.0.1:9902", "/ready"]
LABEL org.opencontainers.image.title="Recast" \
      org.opencontainers.image.description="A forwarding proxy that re-encodes bodies" \
      org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["/usr/bin/recast"]
CMD ["serve", "/etc/recast/recast.yaml"]
