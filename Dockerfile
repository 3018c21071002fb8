# The program on Debian 12, from the tarball of tools/package.sh; and, as the target `cuda`, with the runner of `weft measure`. The steps are
# checked by tests/package/dockerfile_test.py; nobody has built an image yet.
#
#   docker build -t weft .
#   docker run --rm -v "$PWD:/data" -w /data weft run scenario.yaml
#   docker build -t weft:cuda --target cuda .
#   docker run --rm --gpus all -v "$PWD:/data" -w /data weft:cuda measure --quick -o node.jsonl
FROM debian:12 AS build
WORKDIR /weft
COPY tools/install_deps.sh tools/
RUN apt-get update && tools/install_deps.sh --package && rm -rf /var/lib/apt/lists/*
COPY . .
RUN tools/package.sh

# The runner is a project of its own; CUDA's image for building has nvcc, cuBLASLt and NCCL, the one for running the libraries.
FROM nvidia/cuda:12.8.1-devel-ubuntu24.04 AS measure
RUN apt-get update && apt-get install -y --no-install-recommends cmake g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /weft
COPY validate/measure validate/measure
RUN cmake -S validate/measure -B build/measure && cmake --build build/measure --parallel

FROM nvidia/cuda:12.8.1-runtime-ubuntu24.04 AS cuda
COPY --from=build /weft/build/packages/weft-*-linux-*.tar.gz /tmp/
RUN mkdir /opt/weft && tar -xzf /tmp/weft-*-linux-*.tar.gz -C /opt/weft --strip-components=1 && rm /tmp/weft-*.tar.gz \
  && ln -s /opt/weft/bin/weft /usr/local/bin/weft && weft --version
COPY --from=measure /weft/build/measure/weft-measure /opt/weft/bin/
ENTRYPOINT ["weft"]

FROM debian:12-slim AS runtime
COPY --from=build /weft/build/packages/weft-*-linux-*.tar.gz /tmp/
RUN mkdir /opt/weft && tar -xzf /tmp/weft-*-linux-*.tar.gz -C /opt/weft --strip-components=1 && rm /tmp/weft-*.tar.gz \
  && ln -s /opt/weft/bin/weft /usr/local/bin/weft && weft --version
ENTRYPOINT ["weft"]
