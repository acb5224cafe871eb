# Outrigger's container images. `./dev image` builds the last stage on a machine without an image registry.
#
#   docker build -t outrigger .                        the programs: no shell, no package manager, uid 65532
#   docker build --target dev -t outrigger-dev .       everything that building and testing needs; then, in the source folder:
#     docker run --rm -it -v "$PWD":/src outrigger-dev ./dev test

ARG BASE=debian:trixie-slim

# What building needs: the package lists are the ones that ./dev uses.
FROM ${BASE} AS toolchain
COPY tools/dev/packages/build.txt /tmp/packages/
RUN apt-get update \
 && sed 's/#.*//' /tmp/packages/*.txt | DEBIAN_FRONTEND=noninteractive xargs apt-get install -qy --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /tmp/packages
ENV LANG=C.UTF-8 CCACHE_DIR=/ccache CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
WORKDIR /src

FROM toolchain AS dev
COPY tools/dev/packages /tmp/packages
RUN apt-get update \
 && sed 's/#.*//' /tmp/packages/*.txt | DEBIAN_FRONTEND=noninteractive xargs apt-get install -qy --no-install-recommends \
 && rm -rf /var/lib/apt/lists/* /tmp/packages
CMD ["bash"]

FROM toolchain AS build
COPY CMakeLists.txt CMakePresets.json ./
COPY cmake cmake
COPY api api
COPY lib lib
COPY slo slo
COPY service service
COPY sidecar sidecar
COPY chaos chaos
COPY cli cli
COPY examples/catalogue.yaml examples/
ARG JOBS=
RUN cmake --preset release && cmake --build build/release -j ${JOBS:-$(nproc)}
COPY LICENSE ./
COPY tools/dev/image/rootfs.sh /usr/local/sbin/
RUN cmake --install build/release --prefix /usr/local --strip && rootfs.sh /usr/local /rootfs

# Programs, the libraries that they load, certificates, and the licences of all of it: nothing else.
FROM scratch
COPY --from=build /rootfs /
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Outrigger" \
      org.opencontainers.image.description="Saga service, sidecar and command line of Outrigger" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0"
ENV PATH=/usr/local/bin:/usr/bin LANG=C.UTF-8
# Numeric, so that Kubernetes can check runAsNonRoot; any other uid works as well.
USER 65532:65532
WORKDIR /
# service 8000 9900, sidecar 8080 9901, participants 9902
EXPOSE 8000 8080 9900 9901 9902
CMD ["outrigger-service"]
