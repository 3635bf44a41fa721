# coterie with the bundled encoder, for the command line. Build and use:
#   docker build -t coterie .
#   docker run --rm --network none --volume "$PWD:/data" coterie cluster tickets.csv
FROM python:3.11-slim

COPY . /src
RUN pip install --no-cache-dir --constraint /src/constraints.txt \
      '/src[bundled,report,excel,parquet]' \
    && rm -rf /src \
    && useradd --create-home coterie

USER coterie
WORKDIR /data
ENTRYPOINT ["coterie"]
