// One GET again and again: as fast as it can, or RATE a second as an open model. SECONDS and USERS set its size.
import http from 'k6/http';

const rate = Number(__ENV.RATE);
const users = Number(__ENV.USERS);
const duration = `${__ENV.SECONDS}s`;

export const options = {
  scenarios: {
    load: rate > 0
      ? { executor: 'constant-arrival-rate', rate, timeUnit: '1s', duration, preAllocatedVUs: users, maxVUs: users }
      : { executor: 'constant-vus', vus: users, duration },
  },
};

export default function () {
  http.get(__ENV.URL);
}
