# docker build -t maskpredict . && docker run --rm -p 8000:8000 maskpredict
FROM python:3.11-slim

WORKDIR /opt/maskpredict
COPY constraints.txt ./
# PyTorch without CUDA, which alone would be several gigabytes.
RUN pip install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu "$(grep ^torch== constraints.txt)"
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN pip install --no-cache-dir -c constraints.txt '.[serve]' && rm -rf src

RUN useradd --system --no-create-home maskpredict
USER maskpredict
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/readyz')"]
# Options of your own replace the last line: docker run -v ./runs:/runs maskpredict --host 0.0.0.0 --model /runs/mine
ENTRYPOINT ["maskpredict", "serve"]
CMD ["--host", "0.0.0.0"]
