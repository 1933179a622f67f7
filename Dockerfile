# rmqd, which serves topics over HTTP and posts them to webhooks: docs/HTTP.md, docs/WEBHOOKS.md. User 65532 must be able to
# read tokens.json.
#
#	docker build -t rmqd .
#	docker run -e RMQ_REDIS=redis://redis:6379 -v ./tokens.json:/etc/rmqd/tokens.json:ro -p 8080:8080 rmqd
FROM --platform=$BUILDPLATFORM golang:1.26.8@sha256:9d2f36f06329b2a141b9db99ffa32765cf695ee57b813ca29e245e8670bcbfff AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY . .
RUN cd server && CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -tags timetzdata -ldflags=-s -o /rmqd ./cmd/rmqd

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /rmqd /rmqd
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/rmqd"]
CMD ["serve", "--listen", ":8080", "--tokens", "/etc/rmqd/tokens.json", "--log", "json"]
