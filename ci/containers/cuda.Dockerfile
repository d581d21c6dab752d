# assay with the plug-in for NVIDIA GPUs, for runners with a driver: docs/CI.md.
#   docker build -f ci/containers/cuda.Dockerfile --build-arg REVISION="$(git describe --always)" -t assay:cuda .
#   docker run --gpus all assay:cuda assay doctor
ARG CUDA=12.6.3
ARG SYSTEM=ubuntu24.04

FROM nvidia/cuda:${CUDA}-devel-${SYSTEM} AS build
SHELL ["/bin/bash", "-o", "pipefail", "-c"]
WORKDIR /src
COPY ci/install-deps.sh ci/
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc g++ libc6-dev make \
    && ci/install-deps.sh && rm -rf /var/lib/apt/lists/*
COPY . .
ARG REVISION=
RUN make install DESTDIR=/installed ${REVISION:+REVISION="$REVISION"}

FROM nvidia/cuda:${CUDA}-cudnn-runtime-${SYSTEM}
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git gnuplot-nox libcurl4 \
        libgomp1 libhwloc15 libjansson4 libopenblas0-pthread libsqlite3-0 libyaml-0-2 \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /installed/ /
# No entry point: systems of CI run a shell in the image.
CMD ["assay", "doctor"]
