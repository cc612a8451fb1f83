// The elements of a hash, a set or a sorted set, by name and by position.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "server/engine/containers/linear_hash.h"
#include "server/values/names.h"

namespace fairlock::values {

// The hash of the name of an element, with a seed that nobody else knows.
std::uint64_t HashOfName(std::string_view name, std::uint64_t seed);
// The seed of the tables that are made from now on. The first call counts.
void SetNameSeed(std::uint64_t seed);
std::uint64_t NameSeed();

// Up to kFewElements are kept in order and are searched one after the other. More have an index
// by name, and an array that grows by chunks, so that no addition moves many; the erasure of
// one moves the last one into its position. So a walk from the last position to the first one,
// which continues below the lowest position that it has seen, sees every element that is there from
// its beginning to its end, whatever is added and erased meanwhile.
//
// Owns its nodes. A Node has `name`, `position` and a static `Free(Node*)`. Movable. Apart from
// tables with few elements, everything is O(1) on average.
template <typename Node>
class ElementTable {
 public:
  // As many as Redis, too, keeps in order in hashes and in sets of numbers.
  static constexpr std::size_t kFewElements = 512;

  ElementTable() = default;
  ElementTable(ElementTable&& other) noexcept
      : size_(std::exchange(other.size_, 0)),
        few_(std::move(other.few_)),
        chunks_(std::move(other.chunks_)),
        index_(std::move(other.index_)) {
    other.few_.clear();
    other.chunks_.clear();
  }
  ElementTable& operator=(ElementTable&& other) noexcept {
    std::swap(size_, other.size_);
    std::swap(few_, other.few_);
    std::swap(chunks_, other.chunks_);
    std::swap(index_, other.index_);
    return *this;
  }
  ~ElementTable() { FreeSome(size_); }

  std::size_t size() const { return size_; }
  bool is_ordered() const { return index_ == nullptr; }
  Node& at(std::size_t position) const {
    return *(is_ordered() ? few_[position] : (*chunks_[position / kChunk])[position % kChunk]);
  }

  Node* Find(std::string_view name) const {
    if (index_ != nullptr) {
      return index_->table.Find(HashOfName(name, index_->seed),
                                [&](const Node& node) { return node.name == name; });
    }
    for (Node* node : few_) {
      if (node->name == name) return node;
    }
    return nullptr;
  }
  // Returns the node of each of these names, or null.
  std::vector<Node*> FindAll(std::span<const std::string_view> names) const {
    std::vector<Node*> found(names.size());
    if (index_ != nullptr || names.size() <= kFewNames) {
      for (std::size_t i = 0; i < names.size(); ++i) found[i] = Find(names[i]);
      return found;
    }
    const Names wanted(names);
    std::vector<Node*> by_index(wanted.size() + 1);  // the last one belongs to no name
    for (Node* node : few_) by_index[wanted.IndexOf(node->name)] = node;
    by_index.back() = nullptr;
    for (std::size_t i = 0; i < names.size(); ++i) found[i] = by_index[wanted.IndexOf(names[i])];
    return found;
  }

  // Adds a node behind the others. REQUIRES: there is none with that name.
  void Add(Node& node) {
    if (is_ordered() && size_ == kFewElements) BuildIndex();
    node.position = static_cast<std::uint32_t>(size_);
    if (is_ordered()) {
      few_.push_back(&node);
    } else {
      if (size_ % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
      Slot(size_) = &node;
      index_->table.Insert(HashOfName(node.name, index_->seed), node);
    }
    ++size_;
  }
  // Adds a node at that position. REQUIRES: the table is ordered, and stays so with one node more.
  void Insert(Node& node, std::size_t position) {
    few_.insert(few_.begin() + static_cast<std::ptrdiff_t>(position), &node);
    ++size_;
    Renumber(position);
  }
  // Takes a node out, and gives it to the caller.
  void Remove(Node& node) {
    const std::size_t position = node.position;
    --size_;
    if (is_ordered()) {
      few_.erase(few_.begin() + static_cast<std::ptrdiff_t>(position));
      return Renumber(position);
    }
    index_->table.Erase(HashOfName(node.name, index_->seed), node);
    Slot(position) = Slot(size_);
    Slot(position)->position = static_cast<std::uint32_t>(position);
    if (size_ % kChunk == 0) chunks_.pop_back();
    if (size_ <= kFewElements / 4) DropIndex();
  }

  // Frees up to that many elements, and returns how many. Afterwards, the table may only be
  // asked for its size, and be freed.
  std::size_t FreeSome(std::size_t elements_max) {
    std::size_t freed = 0;
    for (; freed < elements_max && size_ > 0; ++freed) {
      Node* node = &at(--size_);
      Node::Free(node);
    }
    return freed;
  }

 private:
  static constexpr std::size_t kChunk = 512;
  using Chunk = std::array<Node*, kChunk>;
  struct HashOfNode {
    std::uint64_t seed;
    std::uint64_t operator()(const Node& node) const { return HashOfName(node.name, seed); }
  };
  struct Index {
    Index() : seed(NameSeed()), table(HashOfNode{seed}) {}
    std::uint64_t seed;
    engine::LinearHash<Node, HashOfNode> table;
  };

  Node*& Slot(std::size_t position) { return (*chunks_[position / kChunk])[position % kChunk]; }
  void Renumber(std::size_t from) {
    for (; from < size_; ++from) few_[from]->position = static_cast<std::uint32_t>(from);
  }
  void BuildIndex() {
    index_ = std::make_unique<Index>();
    for (std::size_t i = 0; i < size_; ++i) {
      if (i % kChunk == 0) chunks_.push_back(std::make_unique<Chunk>());
      Slot(i) = few_[i];
      index_->table.Insert(HashOfName(few_[i]->name, index_->seed), *few_[i]);
    }
    few_ = {};
  }
  void DropIndex() {
    for (std::size_t i = 0; i < size_; ++i) few_.push_back(Slot(i));
    chunks_.clear();
    index_.reset();
  }

  std::size_t size_ = 0;
  std::vector<Node*> few_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::unique_ptr<Index> index_;
};

// The elements of a large value that have changed since they were last stored.
//
// Costs nothing but a pointer while it is off. Movable.
template <typename Id>
class ChangedElements {
 public:
  bool is_on() const { return ids_ != nullptr; }
  void TurnOn() { ids_ = std::make_unique<std::vector<Id>>(); }
  template <typename From>
  void Note(const From& id) {
    if (ids_ != nullptr) ids_->emplace_back(id);
  }
  // Each element once, in ascending order; forgets them.
  std::vector<Id> Take() {
    std::vector<Id> taken = std::exchange(*ids_, {});
    std::ranges::sort(taken);
    taken.erase(std::unique(taken.begin(), taken.end()), taken.end());
    return taken;
  }

 private:
  std::unique_ptr<std::vector<Id>> ids_;
};

// What a container shows as a range: its elements by their positions.
template <typename Owner, typename Element>
class IndexedView {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Element;
    using difference_type = std::ptrdiff_t;
    using pointer = const Element*;
    using reference = const Element&;

    Iterator() = default;
    Iterator(const Owner* owner, std::size_t at) : owner_(owner), at_(at) {}
    reference operator*() const { return owner_->at(at_); }
    pointer operator->() const { return &owner_->at(at_); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator& one, const Iterator& other) {
      return one.at_ == other.at_;
    }

   private:
    const Owner* owner_ = nullptr;
    std::size_t at_ = 0;
  };
  using iterator = Iterator;
  using const_iterator = Iterator;
  using value_type = Element;
  using size_type = std::size_t;

  explicit IndexedView(const Owner& owner) : owner_(&owner) {}
  std::size_t size() const { return owner_->size(); }
  bool empty() const { return size() == 0; }
  const Element& operator[](std::size_t at) const { return owner_->at(at); }
  const Element& front() const { return owner_->at(0); }
  const Element& back() const { return owner_->at(size() - 1); }
  Iterator begin() const { return {owner_, 0}; }
  Iterator end() const { return {owner_, size()}; }

 private:
  const Owner* owner_;
};

}  // namespace fairlock::values
