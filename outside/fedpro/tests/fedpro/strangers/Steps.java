// Two federates for Pitch's client library that advance together, each of which sends a message each step, and
// print a digest of what they were called with. Arguments: the server's address, a module, a number of steps.

import hla.rti1516_2025.*;
import hla.rti1516_2025.time.*;
import java.nio.ByteBuffer;
import java.util.concurrent.CountDownLatch;

public class Steps extends NullFederateAmbassador {
  final RTIambassador rti;
  final CountDownLatch regulating = new CountDownLatch(1), constrained = new CountDownLatch(1);
  long digest = 0xcbf29ce484222325L, granted = 0;

  Steps() throws Exception {
    rti = RtiFactoryFactory.getRtiFactory("Federate Protocol").getRtiAmbassador();
  }

  // FNV-1a.
  void note(String text) {
    for (byte one : text.getBytes()) digest = (digest ^ one) * 0x100000001b3L;
  }

  @Override public void timeRegulationEnabled(LogicalTime<?, ?> time) { regulating.countDown(); }

  @Override public void timeConstrainedEnabled(LogicalTime<?, ?> time) { constrained.countDown(); }

  @Override public synchronized void timeAdvanceGrant(LogicalTime<?, ?> time) {
    note("granted " + ((HLAinteger64Time) time).getValue());
    granted = ((HLAinteger64Time) time).getValue();
    notify();
  }

  @Override public synchronized void receiveInteraction(InteractionClassHandle of, ParameterHandleValueMap values,
      byte[] tag, TransportationTypeHandle transportation, FederateHandle from, RegionHandleSet regions,
      LogicalTime<?, ?> time, OrderType sent, OrderType received, MessageRetractionHandle retraction) {
    note("received " + ((HLAinteger64Time) time).getValue() + " " + ByteBuffer.wrap(tag).getLong());
  }

  void join(String address, String module, String name) throws Exception {
    rti.connect(this, CallbackModel.HLA_IMMEDIATE, RtiConfiguration.createConfiguration().withRtiAddress(address));
    try {
      rti.createFederationExecution("Steps", new String[] {module}, "HLAinteger64Time");
    } catch (hla.rti1516_2025.exceptions.FederationExecutionAlreadyExists there) {
      // The other one was first.
    }
    rti.joinFederationExecution(name, "steps", "Steps");
    rti.publishInteractionClass(rti.getInteractionClassHandle("Hit"));
    rti.subscribeInteractionClass(rti.getInteractionClassHandle("Hit"));
    rti.enableTimeRegulation(((HLAinteger64TimeFactory) rti.getTimeFactory()).makeInterval(1));
    regulating.await();
    rti.enableTimeConstrained();
    constrained.await();
  }

  void advance(long steps) throws Exception {
    InteractionClassHandle hit = rti.getInteractionClassHandle("Hit");
    HLAinteger64TimeFactory times = (HLAinteger64TimeFactory) rti.getTimeFactory();
    ParameterHandleValueMap none = rti.getParameterHandleValueMapFactory().create(0);
    for (long step = 1; step <= steps; step++) {
      rti.sendInteraction(hit, none, ByteBuffer.allocate(8).putLong(step).array(), times.makeTime(step));
      rti.timeAdvanceRequest(times.makeTime(step));
      synchronized (this) {
        while (granted < step) wait();
      }
    }
    rti.resignFederationExecution(ResignAction.NO_ACTION);
    rti.disconnect();
  }

  public static void main(String[] arguments) throws Exception {
    Steps[] federates = {new Steps(), new Steps()};
    federates[0].join(arguments[0], arguments[1], "first");
    federates[1].join(arguments[0], arguments[1], "second");
    Thread other = new Thread(() -> {
      try {
        federates[1].advance(Long.parseLong(arguments[2]));
      } catch (Exception error) {
        error.printStackTrace();
        System.exit(1);
      }
    });
    other.start();
    federates[0].advance(Long.parseLong(arguments[2]));
    other.join();
    System.out.printf("digest %016x %016x%n", federates[0].digest, federates[1].digest);
    System.exit(0);
  }
}
