#include "signpost/registry/application/offered_services.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace signpost::application_internal {
namespace {

ServiceInfo Service(const std::string& name, const std::string& protocol, int32_t port,
                    StringMap params = {}) {
  ServiceInfo service;
  service.name = name;
  service.protocol = protocol;
  service.port = port;
  service.params = std::move(params);
  return service;
}

std::shared_ptr<const OfferedServices> Prepare(std::initializer_list<ServiceInfo> services) {
  auto info = std::make_shared<MetadataInfo>();
  for (const ServiceInfo& service : services) info->services[service.match_key()] = service;
  return PrepareOffers("shop", "r1", std::move(info));
}

InstancePtr Instance(uint16_t port, std::map<std::string, std::string> metadata = {}) {
  auto instance = std::make_shared<ServiceInstance>();
  instance->app = "shop";
  instance->host = "192.0.2.1";
  instance->port = port;
  instance->metadata = std::move(metadata);
  return instance;
}

const OfferedService& First(const OfferedServices& offers, const std::string& interface_name) {
  return offers.by_interface.at(interface_name).front();
}

TEST(OfferedServicesTest, FillsInWhatTheDocumentLeftOut) {
  ServiceInfo service = Service("a.A", "tri", 0);
  service.group = "g";
  service.version = "1.0";
  const auto offers = Prepare({service});
  const EndpointService& shared = *First(*offers, "a.A").service;
  EXPECT_EQ(shared.name, "g/a.A:1.0");
  EXPECT_EQ(shared.app, "shop");
  EXPECT_EQ(shared.revision, "r1");
  EXPECT_EQ(shared.path, "a.A");
  EXPECT_EQ(shared.params, (StringMap{{"interface", "a.A"}, {"group", "g"}, {"version", "1.0"}}));
}

TEST(OfferedServicesTest, ProtocolsOfOneInterfaceAreOffersOfTheirOwn) {
  const auto offers = Prepare({Service("a.A", "tri", 1), Service("a.A", "dubbo", 2)});
  EXPECT_EQ(offers->by_interface.at("a.A").size(), 2u);
}

TEST(OfferedServicesTest, WhichPort) {
  const std::string endpoints = R"([{"port":20881,"protocol":"tri"}])";
  const auto one = Prepare({Service("a.A", "tri", 50051)});
  const auto none = Prepare({Service("a.A", "tri", 0)});
  const auto odd = Prepare({Service("a.A", "tri", 70000)});
  const auto several = Prepare({Service("a.A", "tri", 50051), Service("a.B", "tri", 50052)});
  EXPECT_EQ(PortOf(*Instance(20880), First(*one, "a.A")), 50051);
  EXPECT_EQ(PortOf(*Instance(20880, {{kEndpointsKey, endpoints}}), First(*one, "a.A")), 20881);
  EXPECT_EQ(PortOf(*Instance(20880, {{kEndpointsKey, endpoints}}), First(*none, "a.A")), 20881);
  EXPECT_EQ(PortOf(*Instance(20880), First(*none, "a.A")), 20880);
  EXPECT_EQ(PortOf(*Instance(20880), First(*odd, "a.A")), 20880);
  // dubbo.endpoints has room for one port of a protocol only.
  EXPECT_EQ(PortOf(*Instance(20880, {{kEndpointsKey, endpoints}}), First(*several, "a.B")), 50052);
  EXPECT_EQ(PortOf(*Instance(20880, {{kEndpointsKey, "{broken"}}), First(*none, "a.A")), 20880);
}

TEST(OfferedServicesTest, WhichWeight) {
  const auto weight = [](StringMap params, std::map<std::string, std::string> metadata = {}) {
    const auto offers = Prepare({Service("a.A", "tri", 1, std::move(params))});
    return AddressOf(Instance(1, std::move(metadata)), First(*offers, "a.A")).weight;
  };
  EXPECT_EQ(weight({}), 100);
  EXPECT_EQ(weight({{"weight", "30"}}), 30);
  EXPECT_EQ(weight({{"weight", "30"}}, {{"weight", "7"}}), 7);
  EXPECT_EQ(weight({{"weight", "-3"}}), 0);
  EXPECT_EQ(weight({{"weight", "99999999999"}}), 2147483647);
  EXPECT_EQ(weight({{"weight", "heavy"}}), 100);
  EXPECT_EQ(weight({{"weight", "0"}}), 0);
  EXPECT_EQ(weight({{"weight", "0"}, {"release", "dubbo-golang-3.3.2"}}), 100);
}

TEST(OfferedServicesTest, WhatIsOff) {
  const auto enabled = [](StringMap params, std::map<std::string, std::string> metadata = {}) {
    const auto offers = Prepare({Service("a.A", "tri", 1, std::move(params))});
    return IsEnabled(*Instance(1, std::move(metadata)), First(*offers, "a.A"));
  };
  EXPECT_TRUE(enabled({}));
  EXPECT_FALSE(enabled({{"disabled", "true"}}));
  EXPECT_FALSE(enabled({{"enabled", "false"}}));
  EXPECT_FALSE(enabled({}, {{"disabled", "true"}}));
  EXPECT_TRUE(enabled({{"disabled", "false"}}, {{"disabled", "true"}}));
}

TEST(OfferedServicesTest, AddressesShareWhatIsShared) {
  const auto offers = Prepare({Service("a.A", "tri", 50051)});
  const InstancePtr instance = Instance(20880, {{kTimestampKey, "1700000000000"}});
  const EndpointSpec a = AddressOf(instance, First(*offers, "a.A"));
  const EndpointSpec b = AddressOf(Instance(20880), First(*offers, "a.A"));
  EXPECT_EQ(a.service, b.service);
  EXPECT_EQ(a.instance_metadata.get(), &instance->metadata);
  EXPECT_EQ(a.timestamp_ms, 1700000000000);
  EXPECT_EQ(b.timestamp_ms, 0);
  EXPECT_EQ(a.host, "192.0.2.1");
  EXPECT_EQ(a.port, 50051);
}

}  // namespace
}  // namespace signpost::application_internal
