# assay for hosts without a GPU: docs/CI.md.
#   docker build -f ci/containers/cpu.Dockerfile --build-arg REVISION="$(git describe --always)" -t assay:cpu .
#   docker run assay:cpu assay estimate gpt2
FROM debian:12-slim AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /src
COPY ci/install-deps.sh ci/
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev make \
    && ci/install-deps.sh && rm -rf /var/lib/apt/lists/*
COPY . .
ARG REVISION=
RUN make install CUDA=no DESTDIR=/installed ${REVISION:+REVISION="$REVISION"}

FROM debian:12-slim
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git gnuplot-nox libcurl4 \
        libgomp1 libhwloc15 libjansson4 libopenblas0-pthread libsqlite3-0 libyaml-0-2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/ /
# No entry point: systems of CI run a shell in the image.
CMD ["assay", "doctor"]
