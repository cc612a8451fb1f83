#include "protocol/wire_error.h"

#include <array>
#include <cassert>
#include <cstddef>

namespace fairlock::protocol {
namespace {

constexpr auto kErrors = std::to_array<ErrorRow>({
    {ErrorCode::kErr, "ERR",
     "the request is invalid; the text names the argument and what is allowed"},
    {ErrorCode::kProtocol,
     "ERR Protocol error:", "the bytes are not a request; the connection is closed"},
    {ErrorCode::kNoAuth, "NOAUTH", "the connection must authenticate first"},
    {ErrorCode::kWrongPass, "WRONGPASS", "user or password is wrong, or the user is disabled"},
    {ErrorCode::kNoPerm, "NOPERM", "the user may not do this"},
    {ErrorCode::kNoProto, "NOPROTO", "HELLO requested a protocol version other than 2 and 3"},
    {ErrorCode::kDeadlock, "DEADLOCK", "the wait would never end; the text names the cycle"},
    {ErrorCode::kSuperseded, "SUPERSEDED", "the owner's newer LOCK took over this request's place"},
    {ErrorCode::kCancelled, "CANCELLED", "this request's place in the queue was cancelled"},
    {ErrorCode::kUnblocked, "UNBLOCKED", "CLIENT UNBLOCK ended the wait"},
    {ErrorCode::kFull, "FULL",
     "a configured limit on keys, places or connections has been reached"},
    {ErrorCode::kOom, "OOM", "the memory limit has been reached"},
    {ErrorCode::kStorage, "STORAGE", "the disk has failed or is short of space"},
    {ErrorCode::kLoading, "LOADING", "the server is reading its state from the disk"},
    {ErrorCode::kMoved, "MOVED", "another server is responsible for the key"},
    {ErrorCode::kCrossSlot, "CROSSSLOT", "the keys of one request have different hash slots"},
    {ErrorCode::kClusterDown, "CLUSTERDOWN", "no server is currently responsible for the key"},
    {ErrorCode::kTryAgain, "TRYAGAIN",
     "not possible at the moment; the same request may succeed later"},
    {ErrorCode::kNoQuorum, "NOQUORUM", "the fleet cannot agree on a new leader at the moment"},
    {ErrorCode::kNoScript, "NOSCRIPT",
     "no script with this digest is cached; send its text with EVAL"},
    {ErrorCode::kNotBusy, "NOTBUSY", "no script is running"},
    {ErrorCode::kBusy, "BUSY", "a script is running"},
    {ErrorCode::kWrongType, "WRONGTYPE", "the key has a type that the command does not support"},
    {ErrorCode::kExecAbort, "EXECABORT", "the transaction was refused because of earlier errors"},
});

constexpr bool RowsStandInOrderOfCodes() {
  for (std::size_t index = 0; index < kErrors.size(); ++index) {
    if (static_cast<std::size_t>(kErrors[index].code) != index) return false;
  }
  return kErrors.back().code == ErrorCode::kExecAbort;
}
static_assert(RowsStandInOrderOfCodes());

}  // namespace

std::span<const ErrorRow> AllErrors() { return kErrors; }

std::string_view Word(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  assert(index < kErrors.size());
  return kErrors[index].word;
}

}  // namespace fairlock::protocol
