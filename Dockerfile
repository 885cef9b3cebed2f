# The dashboard over /data (mount your run files there, read-only is enough) or, where nothing is
# mounted, over the bundled sample studies. It writes only to /tmp, so it runs with a read-only root:
#   docker run --read-only --tmpfs /tmp -p 8501:8501 -v "$PWD/library:/data:ro" headway

FROM python:3.13-slim AS build
WORKDIR /src
RUN python -m venv /opt/build \
    && python -m venv --without-pip /opt/headway
COPY requirements-build.lock requirements.lock ./
RUN /opt/build/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-build.lock \
    && /opt/build/bin/python -m pip --python /opt/headway/bin/python install --no-cache-dir \
      --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY app app
COPY queries queries
RUN /opt/build/bin/python -m hatchling build -t wheel -d /src/dist \
    && /opt/build/bin/python -m pip --python /opt/headway/bin/python install --no-cache-dir \
      --no-deps /src/dist/headway-*.whl

FROM python:3.13-slim
COPY --from=build /opt/headway /opt/headway
COPY sample_data /data
ENV HOME=/tmp \
    PATH=/opt/headway/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2
USER 10001:10001
WORKDIR /tmp
EXPOSE 8501
# The body is checked as well: under a wrong base path the application answers 200 with its own page.
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["python", "-c", "import sys, urllib.request as r; sys.exit(r.urlopen('http://127.0.0.1:8501/_stcore/health', timeout=4).read() != b'ok')"]
CMD ["headway", "serve", "/data", "--address", "0.0.0.0", "--port", "8501"]
