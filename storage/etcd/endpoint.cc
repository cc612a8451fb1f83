#include "storage/etcd/endpoint.h"

#include <grpc/grpc.h>
#include <grpc/support/log.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <string_view>
#include <thread>

#include "text/file.h"

namespace fairlock::storage::etcd {
namespace {

using std::chrono::milliseconds;

std::atomic<int> runtimes = 0;  // the number that exist
constexpr int kShutdownMsMax = 1'000;

constexpr int kMiB = 1'024 * 1'024;
constexpr int kRequestBytesMax = 16 * kMiB;  // etcd's own limit is 1.5 MiB unless configured
constexpr int kResponseBytesMax = 256 * kMiB;

// gRPC reports every failed connection on standard error. These reports are dropped, because the
// messages of our outcomes say the same. Failed assertions of gRPC are printed, because an abort
// follows.
void PrintAssertionsOnly(gpr_log_func_args* line) {
  if (std::string_view(line->message).starts_with("assertion failed")) {
    std::fprintf(stderr, "gRPC: %s:%d: %s\n", line->file, line->line, line->message);
  }
}

grpc::ChannelArguments ChannelArgumentsOf(milliseconds connect_timeout) {
  grpc::ChannelArguments arguments;
  // gRPC must not repeat a request, look for proxies, or ask DNS for a configuration.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  // Makes a separate connection, instead of sharing that of another client in this process.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);

  arguments.SetMaxSendMessageSize(kRequestBytesMax);
  arguments.SetMaxReceiveMessageSize(kResponseBytesMax);

  // Also sets TCP_USER_TIMEOUT, which ends a connection whose packets are not acknowledged.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 2'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 1'000);

  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  // For gRPC, this is also the time limit for an attempt to connect.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   static_cast<int>(std::max(connect_timeout, milliseconds(1'000)).count()));
  return arguments;
}

Result<std::string> ReadFile(const std::string& path) {
  if (path.empty()) return std::string();
  text::FileContent file = text::ReadFile(path);
  if (!file.is_read()) return Failed("cannot read " + path + ": " + file.reason());
  if (file.bytes.empty()) return Failed("cannot read " + path + ": it is empty");
  return std::move(file.bytes);
}

}  // namespace

GrpcRuntime::GrpcRuntime() {
  static std::once_flag once;
  std::call_once(once, [] { gpr_set_log_function(PrintAssertionsOnly); });
  ++runtimes;
  grpc_init();
}

// One of gRPC's threads may hold a closed connection a moment longer. When it lets go of that, it
// shuts gRPC down.
GrpcRuntime::~GrpcRuntime() {
  grpc_shutdown_blocking();
  if (runtimes.fetch_sub(1) > 1) return;
  for (int waited_ms = 0; waited_ms < kShutdownMsMax; ++waited_ms) {
    if (grpc_is_initialized() == 0 || runtimes > 0) return;
    std::this_thread::sleep_for(milliseconds(1));
  }
}

gpr_timespec FromNow(milliseconds time) { return gpr_time_from_millis(time.count(), GPR_TIMESPAN); }

Result<Credentials> LoadCredentials(const EtcdOptions& options) {
  Credentials credentials{.plain = grpc::InsecureChannelCredentials(), .tls = nullptr};
  if (!std::ranges::any_of(options.endpoints, &EtcdEndpoint::is_tls)) return credentials;
  const auto ca = ReadFile(options.ca_file);
  const auto certificate = ReadFile(options.cert_file);
  const auto key = ReadFile(options.key_file);
  for (const auto* file : {&ca, &certificate, &key}) {
    if (!file->ok()) return file->status();
  }
  credentials.tls = grpc::SslCredentials({.pem_root_certs = ca.value(),
                                          .pem_private_key = key.value(),
                                          .pem_cert_chain = certificate.value()});
  return credentials;
}

Endpoint::Endpoint(const EtcdEndpoint& endpoint, const Credentials& credentials,
                   const EtcdOptions& options)
    : address_(endpoint.address),
      is_tls_(endpoint.is_tls),
      options_(options),
      credentials_(endpoint.is_tls ? credentials.tls : credentials.plain) {
  MakeChannel();
}

// A certificate may have been replaced. If the files cannot be read, because they are just being
// replaced, the last ones count.
void Endpoint::ReadCredentials() {
  if (!is_tls_) return;
  if (auto credentials = LoadCredentials(options_); credentials.ok()) {
    credentials_ = credentials->tls;
  }
}

void Endpoint::MakeChannel() {
  channel_ = grpc::CreateCustomChannel(address_, credentials_,
                                       ChannelArgumentsOf(options_.attempt_timeout));
  services_.kv = etcdserverpb::KV::NewStub(channel_);
  services_.watch = etcdserverpb::Watch::NewStub(channel_);
  services_.lease = etcdserverpb::Lease::NewStub(channel_);
  services_.cluster = etcdserverpb::Cluster::NewStub(channel_);
  services_.maintenance = etcdserverpb::Maintenance::NewStub(channel_);
  services_.auth = etcdserverpb::Auth::NewStub(channel_);
}

bool Endpoint::Connect(milliseconds time) {
  const auto before = channel_->GetState(false);
  if (before != GRPC_CHANNEL_READY) is_known_ = false;
  if (before == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    ReadCredentials();
    MakeChannel();
  }
  const gpr_timespec end = gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), FromNow(time));
  auto state = channel_->GetState(true);
  while (state == GRPC_CHANNEL_IDLE || state == GRPC_CHANNEL_CONNECTING) {
    if (!channel_->WaitForStateChange(state, end)) return false;
    state = channel_->GetState(true);
  }
  return true;
}

using std::chrono::milliseconds;
using std::chrono::steady_clock;

Deadline::Deadline(milliseconds timeout) : end_(steady_clock::now() + timeout) {}

milliseconds Deadline::Remaining(milliseconds longest) const {
  const auto left = std::chrono::ceil<milliseconds>(end_ - steady_clock::now());
  return std::clamp(left, milliseconds(0), longest);
}

}  // namespace fairlock::storage::etcd
