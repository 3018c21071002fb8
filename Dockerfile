# The program on Debian 12, from the tarball of tools/package.sh. The steps are checked by tests/package/dockerfile_test.py; nobody has
# built the image yet. `weft measure` needs CUDA and is not in it.
#
#   docker build -t weft .
#   docker run --rm -v "$PWD:/data" -w /data weft run scenario.yaml
FROM debian:12 AS build
WORKDIR /weft
COPY tools/install_deps.sh tools/
RUN apt-get update && tools/install_deps.sh --package && rm -rf /var/lib/apt/lists/*
COPY . .
RUN tools/package.sh

FROM debian:12-slim AS runtime
COPY --from=build /weft/build/packages/weft-*-linux-*.tar.gz /tmp/
RUN mkdir /opt/weft && tar -xzf /tmp/weft-*-linux-*.tar.gz -C /opt/weft --strip-components=1 && rm /tmp/weft-*.tar.gz \
  && ln -s /opt/weft/bin/weft /usr/local/bin/weft && weft --version
ENTRYPOINT ["weft"]
