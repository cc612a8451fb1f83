#include "server/net/tls/tls_socket.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

namespace fairlock::net {

namespace {

constexpr std::size_t kRecordBytesMax = SSL3_RT_MAX_PLAIN_LENGTH;
// With this limit, the decrypted records fit into the window, even together with an incomplete
// record from before.
constexpr std::size_t kReceiveBytesMax = TlsSocket::kWindowBytesMin - 2 * kRecordBytesMax;
// The limit for one handshake flight. Certificates of clients are much smaller.
constexpr std::size_t kFlightBytesMax = 256 * 1024;

bool IsTemporary(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

struct TlsSocket::Bio {
  static TlsSocket& SocketOf(BIO* bio) { return *static_cast<TlsSocket*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* bytes, int count) {
    TlsSocket& self = SocketOf(bio);
    BIO_clear_retry_flags(bio);
    const std::size_t wanted = std::min(static_cast<std::size_t>(count), self.receivable_bytes_);
    if (wanted == 0) {
      BIO_set_retry_read(bio);
      return -1;
    }
    const ssize_t received = ::recv(self.socket_, bytes, wanted, 0);
    if (received > 0) {
      // If there were fewer bytes than requested, the socket is empty, and another call would be
      // wasted.
      const auto got = static_cast<std::size_t>(received);
      self.receivable_bytes_ -= got < wanted ? self.receivable_bytes_ : got;
    } else if (received == 0) {
      self.is_at_end_ = true;
    } else if (IsTemporary(errno)) {
      BIO_set_retry_read(bio);
    } else {
      self.error_ = errno;
    }
    return static_cast<int>(received);
  }

  static int Write(BIO* bio, const char* bytes, int count) {
    TlsSocket& self = SocketOf(bio);
    BIO_clear_retry_flags(bio);
    const ssize_t sent =
        ::send(self.socket_, bytes, static_cast<std::size_t>(count), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (IsTemporary(errno)) {
        BIO_set_retry_write(bio);
      } else {
        self.error_ = errno;
      }
    }
    return static_cast<int>(sent);
  }

  static long Control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_FLUSH) return 1;
    return command == BIO_CTRL_EOF && SocketOf(bio).is_at_end_ ? 1 : 0;
  }

  static BIO* New(TlsSocket& self) {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
      BIO_meth_set_read(made, Read);
      BIO_meth_set_write(made, Write);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    BIO* const bio = BIO_new(method);
    BIO_set_data(bio, &self);
    BIO_set_init(bio, 1);
    return bio;
  }
};

TlsSocket::TlsSocket(SslHandle ssl, int socket) : ssl_(std::move(ssl)), socket_(socket) {
  BIO* const bio = Bio::New(*this);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_accept_state(ssl_.get());
}

TlsSocket::Step TlsSocket::Shake() {
  ERR_clear_error();
  receivable_bytes_ = kFlightBytesMax;
  const int result = SSL_do_handshake(ssl_.get());
  if (result == 1) return Step::kDone;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Step::kNeedsToRead;
    case SSL_ERROR_WANT_WRITE:
      return Step::kNeedsToWrite;
    default:
      RememberFailure();
      return Step::kFailed;
  }
}

void TlsSocket::RememberFailure() {
  const long verified = SSL_get_verify_result(ssl_.get());
  if (is_at_end_) {
    failure_ = "it closed the connection";
  } else if (error_ != 0) {
    failure_ = "the connection was lost";
  } else if (verified != X509_V_OK) {
    failure_ = std::string("its certificate: ") + X509_verify_cert_error_string(verified);
  } else {
    failure_ = TakeSslError();
  }
  ERR_clear_error();
}

ssize_t TlsSocket::Receive(std::span<char> window) {
  assert(window.size() >= kWindowBytesMin);
  ERR_clear_error();
  // Saves a system call per record: without it, OpenSSL reads the header and the body separately.
  // It is not set during the handshake, because the bytes after the handshake belong to the next
  // user of the connection.
  SSL_set_read_ahead(ssl_.get(), 1);
  receivable_bytes_ = kReceiveBytesMax;
  std::size_t received = 0;
  int result = 1;
  while (result > 0 && window.size() - received >= kRecordBytesMax) {
    result =
        SSL_read(ssl_.get(), window.data() + received, static_cast<int>(window.size() - received));
    if (result > 0) received += static_cast<std::size_t>(result);
  }
  const int reason = SSL_get_error(ssl_.get(), result);
  const bool is_for_now =
      reason == SSL_ERROR_NONE || reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE;
  has_ended_ = !is_for_now;
  is_broken_ = is_broken_ || (has_ended_ && reason != SSL_ERROR_ZERO_RETURN);
  if (received > 0) return static_cast<ssize_t>(received);
  if (reason == SSL_ERROR_ZERO_RETURN || is_at_end_) return 0;
  errno = is_for_now ? EAGAIN : error_ != 0 ? error_ : EPROTO;
  return -1;
}

ssize_t TlsSocket::Send(std::string_view bytes) {
  ERR_clear_error();
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const std::size_t count = std::min<std::size_t>(bytes.size() - sent, 1 << 30);
    const int result = SSL_write(ssl_.get(), bytes.data() + sent, static_cast<int>(count));
    if (result > 0) {
      sent += static_cast<std::size_t>(result);
      continue;
    }
    if (sent > 0) break;
    const int error = SSL_get_error(ssl_.get(), result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      errno = EAGAIN;
    } else {
      is_broken_ = true;
      errno = error_ != 0 ? error_ : EPROTO;
    }
    return -1;
  }
  return static_cast<ssize_t>(sent);
}

void TlsSocket::SendEnd() {
  // OpenSSL allows no further calls after a connection error.
  if (is_broken_) return;
  ERR_clear_error();
  SSL_shutdown(ssl_.get());
}

std::string TlsSocket::PeerName() const {
  X509* const certificate = SSL_get0_peer_certificate(ssl_.get());
  if (certificate == nullptr) return "";
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return "";
  unsigned char* text = nullptr;
  const ASN1_STRING* const name = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
  const int size = ASN1_STRING_to_UTF8(&text, name);
  if (size < 0) return "";
  std::string utf8(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return utf8;
}

}  // namespace fairlock::net
