# docker build -t maskpredict . && docker run --rm -p 8000:8000 maskpredict
FROM python:3.11-slim AS build
WORKDIR /tree
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY deploy/install.sh deploy/
COPY deploy/locks deploy/locks
COPY src src
RUN deploy/install.sh /opt/maskpredict serve

# Only the installed package: it needs neither the tree nor PyTorch.
FROM python:3.11-slim
COPY --from=build /opt/maskpredict /opt/maskpredict
ENV PATH=/opt/maskpredict/bin:$PATH

RUN useradd --system --no-create-home maskpredict
USER maskpredict
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/healthz')"]
# Options of your own replace the last line: docker run -v ./runs:/runs maskpredict --host 0.0.0.0 --model /runs/mine
ENTRYPOINT ["maskpredict", "serve"]
CMD ["--host", "0.0.0.0"]
