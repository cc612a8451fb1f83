// Owns a file descriptor and closes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace fairlock::cli {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) Reset(std::exchange(other.number_, -1));
    return *this;
  }
  ~Descriptor() { Reset(); }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }

  void Reset(int number = -1) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_ = -1;
};

}  // namespace fairlock::cli
